package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
)

// message encodes one message of magic 0 or 1.
func message(magic int8, offset Offset, attributes byte, timestamp int64, key, value []byte) []byte {
	b := []byte{byte(magic), attributes}
	if magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(timestamp))
	}
	for _, f := range [][]byte{key, value} {
		if f == nil {
			b = binary.BigEndian.AppendUint32(b, 0xffffffff)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	out := binary.BigEndian.AppendUint64(nil, uint64(offset))
	out = binary.BigEndian.AppendUint32(out, uint32(len(b)+4))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(b))
	return append(out, b...)
}

// wrapper compresses messages into one.
func wrapper(t *testing.T, magic int8, offset Offset, c Codec, attributes byte, timestamp int64, inner ...[]byte) Batch {
	t.Helper()
	var all []byte
	for _, m := range inner {
		all = append(all, m...)
	}
	value, err := Compress(nil, c, c.DefaultLevel(), all)
	if err != nil {
		t.Fatal(err)
	}
	return message(magic, offset, attributes|byte(c), timestamp, nil, value)
}

func TestWrapperOffsets(t *testing.T) {
	m := func(magic int8, offset Offset) []byte { return message(magic, offset, 0, 7, nil, []byte("v")) }
	for _, c := range []struct {
		name  string
		batch Batch
		want  []Offset
		err   error
	}{
		{"magic 1, relative", wrapper(t, 1, 12, Gzip, 0, 9, m(1, 0), m(1, 1), m(1, 2)), []Offset{10, 11, 12}, nil},
		{"magic 1, compacted", wrapper(t, 1, 12, Snappy, 0, 9, m(1, 0), m(1, 2)), []Offset{10, 12}, nil},
		{"magic 1, offset 0 of some old clients", wrapper(t, 1, 0, LZ4, 0, 9, m(1, 0), m(1, 1)), []Offset{0, 1}, nil},
		{"magic 1, below the last inside", wrapper(t, 1, 3, Gzip, 0, 9, m(1, 4)), nil, ErrInvalidRecord},
		{"magic 0, absolute", wrapper(t, 0, 12, Gzip, 0, 0, m(0, 10), m(0, 12)), []Offset{10, 12}, nil},
		{"other magic inside", wrapper(t, 1, 5, Gzip, 0, 9, m(0, 0), m(1, 1)), []Offset{4, 5}, nil},
		{"last message cut off", wrapper(t, 1, 5, Gzip, 0, 9, m(1, 0), m(1, 1)[:20]), []Offset{5}, nil},
		{"prefix cut off", wrapper(t, 1, 5, Gzip, 0, 9, m(1, 0), []byte{0, 0, 0}), []Offset{5}, nil},
		{"empty", wrapper(t, 1, 5, Gzip, 0, 9), nil, ErrInvalidRecord},
		{"wrapper inside", wrapper(t, 1, 5, Gzip, 0, 9, wrapper(t, 1, 0, Gzip, 0, 9, m(1, 0))), nil, ErrInvalidRecord},
		{"null value", message(1, 5, byte(Gzip), 9, nil, nil), nil, ErrInvalidRecord},
		{"zstd", wrapper(t, 1, 5, Zstd, 0, 9, m(1, 0)), nil, ErrInvalidRecord},
		{"codec 6", message(1, 5, 6, 9, nil, []byte("x")), nil, ErrDecompress},
		{"no gzip", message(1, 5, byte(Gzip), 9, nil, []byte("not compressed at all")), nil, ErrDecompress},
		{"size 13 inside", wrapper(t, 1, 5, Gzip, 0, 9, append(make([]byte, 11), 13, 0, 0)), nil, ErrCorruptBatch},
		{"too large inside", wrapper(t, 1, 5, Gzip, 0, 9, message(1, 0, 0, 7, nil, make([]byte, 2000))), nil, ErrInvalidRecord},
		{"magic 2 inside", wrapper(t, 1, 5, Gzip, 0, 9, produced(1, None)), nil, ErrCorruptBatch},
		{"only message cut off", wrapper(t, 1, 5, Gzip, 0, 9, message(1, 0, 0, 7, []byte("abcd"), []byte("v"))[:36]), nil, ErrInvalidRecord},
	} {
		rs := c.batch.Records(1000)
		var got []Offset
		for rs.Next() {
			got = append(got, rs.Record().Offset)
		}
		if !errors.Is(rs.Err(), c.err) || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, rs.Err(), c.err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
		if h := c.batch.Header(); h.Count != -1 || h.LastOffset() != h.BaseOffset {
			t.Errorf("%s: %+v", c.name, h)
		}
	}
}

func TestWrapperTimestamps(t *testing.T) {
	inner := [][]byte{message(1, 0, 0, 7, nil, nil), message(1, 1, 0, 9, []byte{}, []byte("v"))}
	created := collect(t, wrapper(t, 1, 5, Gzip, 0, 9, inner...))
	appended := collect(t, wrapper(t, 1, 5, Gzip, byte(attrLogAppendTime), 100, inner...))
	none := collect(t, wrapper(t, 0, 5, Gzip, 0, 0, message(0, 5, 0, 0, []byte("k"), nil)))
	if created[0].Timestamp != 7 || created[1].Timestamp != 9 || created[0].Legacy.TimestampType != CreateTime {
		t.Errorf("CreateTime: %+v", created)
	}
	if appended[0].Timestamp != 100 || appended[1].Timestamp != 100 || appended[1].Legacy.TimestampType != LogAppendTime {
		t.Errorf("LogAppendTime: %+v", appended)
	}
	if none[0].Timestamp != NoTimestamp || none[0].Legacy.TimestampType != NoTimestampType {
		t.Errorf("magic 0: %+v", none)
	}
	if created[0].Key != nil || created[0].Value != nil || created[1].Key == nil || string(created[1].Value) != "v" {
		t.Errorf("null and empty: %+v", created)
	}
}

func TestLegacyFieldsThatDoNotFit(t *testing.T) {
	for at, name := range map[int]string{posLegacyV1Key: "key", posLegacyV1Key + 5: "value"} {
		b := Batch(message(1, 3, 0, 7, []byte("k"), []byte("v")))
		binary.BigEndian.PutUint32(b[at:], 100)
		rs := b.Records(0)
		if rs.Next() || !errors.Is(rs.Err(), ErrCorruptBatch) {
			t.Errorf("%s: %v", name, rs.Err())
		}
	}
	b := Batch(message(0, 3, 0, 0, []byte("k"), []byte("v")))
	b[len(b)-1] ^= 1
	if r := collect(t, b)[0]; r.Legacy.CRCValid || b.CheckCRC() == nil {
		t.Errorf("a wrong checksum went unnoticed: %+v", r)
	}
}
