package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"testing"
)

// unpackable is a batch of n records of 1000 bytes that compress well.
func unpackable(codec Codec, n int) Batch {
	o := DefaultBuilderOptions()
	o.Codec, o.Level = codec, codec.DefaultLevel()
	b := NewBuilder(o)
	for i := range n {
		b.Append(int64(i), []byte("key"), bytes.Repeat([]byte{byte(i)}, 1000), nil)
	}
	return b.Build()
}

// read lists records and how they end.
func read(rs *Records) (seen []string) {
	defer rs.Close()
	for rs.Next() {
		x := rs.Record()
		seen = append(seen, fmt.Sprintf("%d %d %d %s %08x", x.Offset, x.Timestamp, x.SizeInBytes, x.Key, crc32.ChecksumIEEE(x.Value)))
	}
	return append(seen, fmt.Sprint(rs.Err()))
}

func TestUnpack(t *testing.T) {
	for codec := Gzip; codec <= Zstd; codec++ {
		b := unpackable(codec, 50)
		before := []byte("what was there")
		all, err := b.Unpack(append(make([]byte, 0, 100_000), before...))
		if err != nil || !bytes.HasPrefix(all, before) {
			t.Errorf("%v: %d bytes, %v", codec, len(all), err)
			continue
		}
		if got, want := read(b.RecordsIn(all[len(before):], 0)), read(b.Records(0)); fmt.Sprint(got) != fmt.Sprint(want) || len(want) != 51 {
			t.Errorf("%v:\n%q, want\n%q", codec, got, want)
		}
		if again, err := b.Unpack(append(make([]byte, 0, len(all)), before...)); err != nil || !bytes.Equal(again, all) {
			t.Errorf("%v, into just as much: %d bytes, %v", codec, len(again), err)
		}
		for _, room := range []int{0, 1, len(all) - len(before) - 1} {
			dst := append(make([]byte, 0, len(before)+room), before...)
			if out, err := b.Unpack(dst); !errors.Is(err, io.ErrShortBuffer) || len(out) != len(before) || cap(out) != cap(dst) {
				t.Errorf("%v, into %d bytes: %d of %d, %v", codec, room, len(out), cap(out), err)
			}
		}
		if out, err := b[:len(b)-1].Unpack(before); err == nil || len(out) != len(before) {
			t.Errorf("%v, cut off: %d bytes, %v", codec, len(out), err)
		}
	}
	if _, err := unpackable(None, 3).Unpack(make([]byte, 0, 100_000)); !errors.Is(err, ErrDecompress) {
		t.Errorf("not compressed: %v", err)
	}
}

// A frame that asks for a window of 16 MiB is left to Records, which has one decoder at a time.
func TestUnpackOfALargeWindow(t *testing.T) {
	b := unpackable(None, 3)
	content := b[HeaderSize:]
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (24 - 10) << 3} // magic number, flags, window
	frame = append(frame, byte(len(content)<<3)|1, byte(len(content)>>5), byte(len(content)>>13))
	wide := append(append(bytes.Clone(b[:HeaderSize]), frame...), content...)
	binary.BigEndian.PutUint32(wide[posLength:], uint32(len(wide)-LogOverhead))
	binary.BigEndian.PutUint16(wide[posAttributes:], uint16(Zstd))
	if _, err := Batch(wide).Unpack(make([]byte, 0, 100_000)); !errors.Is(err, ErrDecompress) {
		t.Errorf("unpacked: %v", err)
	}
	if got, want := read(Batch(wide).Records(0)), read(b.Records(0)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}
