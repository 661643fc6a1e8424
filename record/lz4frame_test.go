package record

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// lz4Frame compresses with the block size that clients use by default, 4 MiB.
func lz4Frame(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(lz4.BlockSizeOption(lz4.Block4Mb), lz4.ConcurrencyOption(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// letters returns n of four letters in no order, which lz4 halves.
func letters(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + random.IntN(4))
	}
	return b
}

func unpackLZ4(frame []byte) ([]byte, error) {
	r := newLZ4Reader(frame, false)
	defer r.Close()
	return io.ReadAll(r)
}

// TestLZ4BlocksOfAnyExpansion unpacks blocks that fit the first guess, need several, and expand as far as lz4 can.
func TestLZ4BlocksOfAnyExpansion(t *testing.T) {
	for name, content := range map[string][]byte{
		"one byte": {7}, "letters": letters(300 << 10), "zeros": make([]byte, 9<<20), "short zeros": make([]byte, 70<<10), "mixed": append(letters(300<<10), make([]byte, 3<<20)...),
	} {
		got, err := unpackLZ4(lz4Frame(t, content))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(content), err)
		}
	}
}

// TestLZ4DamageIsFound cuts and changes a block that is tried with several sizes of the buffer.
func TestLZ4DamageIsFound(t *testing.T) {
	frame := lz4Frame(t, make([]byte, 2<<20))
	for i := 11; i < len(frame)-8; i += max(len(frame)/64, 1) {
		damaged := bytes.Clone(frame)
		damaged[i] ^= 0xff
		if got, err := unpackLZ4(damaged); err == nil && len(got) == 2<<20 && bytes.Equal(got, make([]byte, 2<<20)) {
			t.Errorf("byte %d: the damage is not seen", i)
		}
	}
}

// TestLZ4DoesNotAllocateTheBlockSize: a small batch in a frame of 4 MiB blocks costs its own size.
func TestLZ4DoesNotAllocateTheBlockSize(t *testing.T) {
	frame := lz4Frame(t, letters(62_000))
	const runs = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		r := newLZ4Reader(frame, false)
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{r}); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > 256<<10 {
		t.Errorf("%d bytes are allocated for a batch of 62,000", each)
	}
}

func BenchmarkLZ4Of4MiBBlocks(b *testing.B) {
	content := letters(62_000)
	frame := lz4Frame(b, content)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	buf := make([]byte, 32<<10)
	for b.Loop() {
		r := newLZ4Reader(frame, false)
		for {
			if _, err := r.Read(buf); err != nil {
				break
			}
		}
		r.Close()
	}
}
