package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var allCodecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

func samples() map[string][]byte {
	random := make([]byte, 200<<10)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(random)
	return map[string][]byte{
		"empty":       {},
		"one byte":    {7},
		"text":        bytes.Repeat([]byte("a record like another; "), 20000),
		"random":      random,
		"32768":       bytes.Repeat([]byte{1, 2, 3, 4}, 8192),
		"65536":       bytes.Repeat([]byte{1, 2, 3, 4}, 16384),
		"zeros":       make([]byte, 3<<20),
		"mixed":       append(bytes.Clone(random[:70000]), make([]byte, 70000)...),
		"three bytes": []byte("abc"),
	}
}

func TestEveryCodecBothWays(t *testing.T) {
	levels := map[Codec][]int{None: {0}, Gzip: {-1, 1, 6, 9}, Snappy: {0}, LZ4: {1, 9, 12, 17}, Zstd: {-5, 0, 1, 3, 9, 17, 22}}
	for _, c := range allCodecs {
		for _, level := range levels[c] {
			for name, want := range samples() {
				prefix := []byte("kept")
				out, err := Compress(bytes.Clone(prefix), c, level, want)
				if err != nil || !bytes.HasPrefix(out, prefix) {
					t.Fatalf("%v level %d, %s: %v", c, level, name, err)
				}
				got, err := Decompress(c, out[len(prefix):], 0)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%v level %d, %s: %d bytes became %d, %v", c, level, name, len(want), len(got), err)
				}
			}
		}
	}
}

// The first bytes of each stream are those that Kafka's Java writers put there.
func TestStreamsBeginAsKafkaWritesThem(t *testing.T) {
	for _, c := range []struct {
		codec Codec
		level int
		want  string
	}{
		{Gzip, DefaultGzipLevel, "1f8b08000000000000ff"},
		{Gzip, 1, "1f8b08000000000000ff"},
		{Gzip, 9, "1f8b08000000000000ff"},
		{Snappy, 0, "82534e4150505900" + "00000001" + "00000001"},
		{LZ4, DefaultLZ4Level, "04224d18" + "604082"},
		{Zstd, DefaultZstdLevel, "28b52ffd0058"},
	} {
		for name, sample := range samples() {
			out, err := Compress(nil, c.codec, c.level, sample)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(out); len(got) < len(c.want) || got[:len(c.want)] != c.want {
				t.Errorf("%v level %d, %s: begins with %.40s, want %s", c.codec, c.level, name, got, c.want)
			}
		}
	}
}

// Z-03: 64 KiB blocks, no content size, no checksums, an end mark.
func TestLZ4FrameIsConservative(t *testing.T) {
	out, _ := Compress(nil, LZ4, DefaultLZ4Level, samples()["mixed"])
	pos := 7
	for {
		size := binary.LittleEndian.Uint32(out[pos:]) &^ lz4RawBlock
		if pos += 4; size == 0 {
			break
		}
		if size > lz4Block {
			t.Fatalf("block of %d bytes", size)
		}
		pos += int(size)
	}
	if pos != len(out) {
		t.Fatalf("%d bytes behind the end mark", len(out)-pos)
	}
	got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(out)))
	if err != nil || !bytes.Equal(got, samples()["mixed"]) {
		t.Fatalf("another reader: %v", err)
	}
}

// Z-01: what foreign producers send as snappy.
func TestSnappyForms(t *testing.T) {
	want := samples()["text"]
	raw := s2.EncodeSnappy(nil, want)
	xerial, _ := Compress(nil, Snappy, 0, want)
	odd := bytes.Clone(xerialHeader[:])
	for _, part := range [][]byte{want[:5], want[5:100000], want[100000:]} {
		block := s2.EncodeSnappy(nil, part)
		odd = append(binary.BigEndian.AppendUint32(odd, uint32(len(block))), block...)
	}
	half, _ := Compress(nil, Snappy, 0, want[:40000])
	rest, _ := Compress(nil, Snappy, 0, want[40000:])
	littleEndian := bytes.Clone(xerial)
	copy(littleEndian[8:], []byte{1, 0, 0, 0, 1, 0, 0, 0})
	for name, src := range map[string][]byte{"raw block": raw, "xerial": xerial, "chunks of other sizes": odd,
		"two streams": append(bytes.Clone(half), rest...), "bytes behind": append(bytes.Clone(xerial), 0, 0),
		"versions in little endian": littleEndian} {
		got, err := Decompress(Snappy, src, 0)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
	}
	framing := &bytes.Buffer{}
	w := s2.NewWriter(framing, s2.WriterSnappyCompat())
	w.Write(want)
	w.Close()
	bad := map[string][]byte{
		"framing format":     framing.Bytes(),
		"cut chunk":          xerial[:len(xerial)-3],
		"empty":              {},
		"cut header":         xerial[:10],
		"claims 2 GiB":       {0xff, 0xff, 0xff, 0xff, 0x07, 0},
		"S2 with repetition": s2Repeat(),
	}
	for name, src := range bad {
		if _, err := Decompress(Snappy, src, 0); !errors.Is(err, ErrDecompress) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// s2Repeat is a block that S2 reads and snappy does not: 8 bytes, the last 4 by a copy with offset 0.
func s2Repeat() []byte { return []byte{8, 3 << 2, 'a', 'b', 'c', 'd', 0x01, 0x00} }

func TestLZ4Forms(t *testing.T) {
	want := samples()["mixed"]
	write := func(options ...lz4.Option) []byte {
		out := &bytes.Buffer{}
		w := lz4.NewWriter(out)
		if err := w.Apply(append(options, lz4.ConcurrencyOption(1))...); err != nil {
			t.Fatal(err)
		}
		w.Write(want)
		w.Close()
		return out.Bytes()
	}
	plain := write(lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block64Kb))
	good := map[string][]byte{
		"content checksum": write(lz4.ChecksumOption(true)),
		"block checksum":   write(lz4.BlockChecksumOption(true)),
		"4 MiB blocks":     write(lz4.BlockSizeOption(lz4.Block4Mb)),
		"content size":     write(lz4.SizeOption(uint64(len(want)))),
		"bytes behind":     append(bytes.Clone(plain), "anything"...),
	}
	wrongSum := bytes.Clone(good["content checksum"])
	wrongSum[len(wrongSum)-1] ^= 1
	good["wrong content checksum, which nobody looks at"] = wrongSum
	for name, src := range good {
		got, err := Decompress(LZ4, src, 0)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
	}
	change := func(src []byte, at int, xor byte) []byte {
		b := bytes.Clone(src)
		b[at] ^= xor
		return b
	}
	for name, src := range map[string][]byte{
		"linked blocks":        change(plain, 4, 0x20),
		"dictionary":           change(plain, 4, 0x01),
		"version 2":            change(plain, 4, 0xc0),
		"block size id 0":      change(plain, 5, 0x40),
		"header checksum":      change(plain, 6, 0xff),
		"magic":                change(plain, 0, 1),
		"block checksum wrong": change(good["block checksum"], len(good["block checksum"])-9, 1),
		"no end mark":          plain[:len(plain)-4],
		"block too large":      append(bytes.Clone(plain[:7]), 1, 0, 1, 0),
		"empty":                {},
	} {
		if _, err := Decompress(LZ4, src, 0); !errors.Is(err, ErrDecompress) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := newDecompressor(LZ4, change(plain, 6, 0xff), true) // Z-02
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("header checksum in magic 0: %v", err)
	}
}

func TestGzipMembers(t *testing.T) {
	one, _ := Compress(nil, Gzip, -1, []byte("one "))
	two, _ := Compress(nil, Gzip, -1, []byte("two"))
	named := &bytes.Buffer{}
	w := gzip.NewWriter(named)
	w.Name, w.Comment, w.Extra = "file", "words", []byte{1, 2, 3}
	w.Write([]byte("one two"))
	w.Close()
	for name, src := range map[string][]byte{"two members": append(bytes.Clone(one), two...), "with name": named.Bytes(),
		"bytes behind": append(append(bytes.Clone(one), two...), 0, 0, 0)} {
		if got, err := Decompress(Gzip, src, 0); err != nil || string(got) != "one two" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	wrong := bytes.Clone(one)
	wrong[len(wrong)-6] ^= 1
	for name, src := range map[string][]byte{"cut": one[:len(one)-1], "checksum": wrong, "empty": {}, "no gzip": []byte("plain text, plainly")} {
		if _, err := Decompress(Gzip, src, 0); !errors.Is(err, ErrDecompress) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestZstdForms(t *testing.T) {
	want := samples()["text"]
	write := func(options ...zstd.EOption) []byte {
		enc, err := zstd.NewWriter(nil, options...)
		if err != nil {
			t.Fatal(err)
		}
		return enc.EncodeAll(want, nil)
	}
	plain := write(zstd.WithEncoderCRC(false))
	checked := write(zstd.WithEncoderCRC(true))
	large := streamed(t, want, zstd.WithWindowSize(32<<20))
	if zstdWindow(large) != 32<<20 {
		t.Fatalf("window of %d bytes", zstdWindow(large))
	}
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
	for name, src := range map[string][]byte{
		"content size": plain, "checksum": checked, "single segment": write(zstd.WithSingleSegment(true)),
		"skippable frame": append(skippable, plain...), "window of 32 MiB": large,
	} {
		if got, err := Decompress(Zstd, src, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
	}
	if got, err := Decompress(Zstd, append(bytes.Clone(plain), checked...), 0); err != nil || len(got) != 2*len(want) {
		t.Errorf("two frames: %d bytes, %v", len(got), err)
	}
	wrong := bytes.Clone(checked)
	wrong[len(wrong)-1] ^= 1
	huge := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0} // a window of 1 GiB, an empty block
	for name, src := range map[string][]byte{"cut": plain[:len(plain)-1], "checksum": wrong, "window of 1 GiB": huge, "no zstd": []byte("plain text")} {
		if _, err := Decompress(Zstd, src, 0); !errors.Is(err, ErrDecompress) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// streamed writes a frame without content size.
func streamed(t *testing.T, b []byte, options ...zstd.EOption) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	w, err := zstd.NewWriter(out, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		n := min(len(b), 100000)
		if _, err := w.Write(b[:n]); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestZstdWindowIsTheLargestOfAllFrames(t *testing.T) {
	small, _ := Compress(nil, Zstd, 1, samples()["text"])
	large, _ := Compress(nil, Zstd, 17, samples()["text"])
	for _, c := range []struct {
		src  []byte
		want uint64
	}{{small, 1 << 19}, {large, 1 << 23}, {append(bytes.Clone(small), large...), 1 << 23}, {append(bytes.Clone(large), small...), 1 << 23}, {nil, 0}} {
		if got := zstdWindow(c.src); got != c.want {
			t.Errorf("window %d, want %d", got, c.want)
		}
	}
}

func TestDecompressStopsAtItsLimit(t *testing.T) {
	for _, c := range allCodecs[1:] {
		src, _ := Compress(nil, c, c.DefaultLevel(), make([]byte, 1000))
		if _, err := Decompress(c, src, 999); !errors.Is(err, ErrDecompress) {
			t.Errorf("%v: %v", c, err)
		}
		if got, err := Decompress(c, src, 1000); err != nil || len(got) != 1000 {
			t.Errorf("%v: %d bytes, %v", c, len(got), err)
		}
	}
}

func TestUnknownCodecs(t *testing.T) {
	for _, c := range []Codec{5, 6, 7, -1} {
		if _, err := Decompress(c, []byte("x"), 0); !errors.Is(err, ErrDecompress) {
			t.Errorf("%v: %v", c, err)
		}
		if _, err := Compress(nil, c, 0, []byte("x")); !errors.Is(err, ErrUnsupportedCodec) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, c := range allCodecs {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("ParseCodec(%q) = %v, %v", c.String(), got, err)
		}
	}
	if _, err := ParseCodec("lzma"); !errors.Is(err, ErrUnsupportedCodec) {
		t.Errorf("lzma: %v", err)
	}
}

// allocated is how much f allocates in bytes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The published vectors for seed 0; longer inputs are covered by the block checksums of TestLZ4Forms.
func TestXXH32(t *testing.T) {
	for in, want := range map[string]uint32{"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff} {
		if got := xxh32([]byte(in)); got != want {
			t.Errorf("xxh32(%q) = %#x, want %#x", in, got, want)
		}
	}
}
