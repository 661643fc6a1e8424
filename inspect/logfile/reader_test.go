package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// batch is a batch of one record at an offset, of size bytes or one or two less.
func batch(offset int64, size int) []byte {
	build := func(value int) []byte {
		o := record.DefaultBuilderOptions()
		o.BaseOffset, o.LeaderEpoch = record.Offset(offset), 0
		b := record.NewBuilder(o)
		b.Append(offset, nil, bytes.Repeat([]byte{byte(offset)}, value), nil)
		return b.Build()
	}
	value := max(0, size-len(build(0)))
	b := build(value)
	for len(b) > size && value > 0 { // larger lengths inside of the record take more bytes
		value -= len(b) - size
		b = build(max(0, value))
	}
	return b
}

// logOf is batches of the given sizes, and where they begin.
func logOf(sizes ...int) (log []byte, at []int64) {
	for i, size := range sizes {
		at = append(at, int64(len(log)))
		log = append(log, batch(int64(i), size)...)
	}
	return log, at
}

func open(t testing.TB, b []byte) *File {
	t.Helper()
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, "/x.log", b)
	f, err := Open(fsys, "/x.log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// walk is what a walk meets, for comparison: places, bytes, and how it ended.
func walk(r *Reader) (seen []string) {
	defer r.Close()
	for r.Next() {
		h := r.Header()
		seen = append(seen, fmt.Sprintf("%d-%d offset %d magic %d valid %v bytes %08x", r.Start(), r.Position(), h.BaseOffset, h.Magic, r.Valid(), crc32.ChecksumIEEE(r.Batch())))
	}
	return append(seen, fmt.Sprintf("end at %d: %v", r.Position(), r.Err()))
}

// serial walks without reading ahead.
func serial(f *File, depth Depth) []string {
	r := NewReader(f, 0, f.SizeInBytes)
	r.Depth = depth
	r.serial, r.serialTo = true, f.SizeInBytes+1
	return walk(r)
}

// Reading ahead meets the same as reading one batch after the other: with batches that end with a piece, cross one or several,
// or are longer than one, with damage, and where the file ends inside of a batch.
func TestAheadEqualsSerial(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range longtest.Pick(20, 1000) {
		var sizes []int
		for total := 0; total < pipelineFrom+4*pieceSize; {
			size := 100 + r.IntN(40<<10)
			switch r.IntN(8) {
			case 0:
				size = max(100, pieceSize-total%pieceSize) // ends about where a piece does
			case 1:
				size = []int{100, 100 << 10, overhang, overhang + 1, pieceSize, pieceSize + overhang, 3 * pieceSize}[r.IntN(7)]
			}
			sizes = append(sizes, size)
			total += size
		}
		log, at := logOf(sizes...)
		for range r.IntN(3) {
			switch i := r.IntN(len(at)); r.IntN(5) {
			case 0:
				log[at[i]+70] ^= 1
			case 1:
				binary.BigEndian.PutUint32(log[at[i]+lengthPosition:], uint32(r.Int32()))
			case 2:
				log[at[i]+record.MagicOffset] = byte(r.IntN(256))
			case 3:
				clear(log[at[i]:])
			default:
				log, at = log[:int(at[i])+80], at[:i+1]
			}
		}
		f := open(t, log)
		processors(t, 1+r.IntN(4))
		ahead := NewReader(f, 0, f.SizeInBytes)
		ahead.Depth = Depth(r.IntN(3))
		want, got := serial(f, ahead.Depth), walk(ahead)
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("line %d of %d:\n%s, want\n%s", i, len(want), got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	}
}

// processors sets how many goroutines read, until the test ends.
func processors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// LGF-2: however long a batch is looked at, those that read ahead do not go on without end.
func TestAheadIsBounded(t *testing.T) {
	for _, n := range []int{1, 3} {
		processors(t, n)
		most := piecesEach * n
		log, _ := logOf(slices.Repeat([]int{64 << 10}, (most+4)*pieceSize/(64<<10))...)
		f := open(t, log)
		r := NewReader(f, 0, f.SizeInBytes)
		for range 3 {
			if !r.Next() {
				t.Fatal(r.Err())
			}
		}
		for { // the test does what the helpers may, until no piece is free
			x, left := r.ahead.begin()
			if !left {
				t.Fatal("all of the file was begun")
			}
			if x == nil {
				break
			}
			r.ahead.do(x, r.ahead.own)
		}
		if made := r.ahead.mu.made; made != most {
			t.Errorf("%d pieces, want %d", made, most)
		}
		n := 3
		for r.Next() {
			n++
		}
		if want := len(log) / len(batch(0, 64<<10)); r.Err() != nil || n < want-1 || r.Position() != f.SizeInBytes {
			t.Errorf("%d batches of %d, up to byte %d of %d: %v", n, want, r.Position(), f.SizeInBytes, r.Err())
		}
		r.Close()
	}
}

// A batch is met at its place with its bytes, whatever lies before the start.
func TestWalkFromTheMiddle(t *testing.T) {
	log, at := logOf(200, 300, 400, 500)
	f := open(t, log)
	r := NewReader(f, at[2], f.SizeInBytes)
	defer r.Close()
	if !r.Next() || r.Start() != at[2] || r.Header().BaseOffset != 2 || !bytes.Equal(r.Batch(), log[at[2]:at[3]]) || !r.Valid() {
		t.Errorf("%+v", r.Header())
	}
	if !r.NextHeader() || r.Position() != at[3] || r.Header().BaseOffset != 3 {
		t.Errorf("%+v", r.Header())
	}
	r.Skip()
	if r.Position() != f.SizeInBytes || r.Next() || r.Err() != nil {
		t.Errorf("at %d: %v", r.Position(), r.Err())
	}
	if r.End() != f.SizeInBytes || r.File() != vfs.File(f) {
		t.Error("another file, or end")
	}
}

// LGF-2: a length that a file claims is not allocated.
func TestClaimedLength(t *testing.T) {
	log, at := logOf(200, 300)
	binary.BigEndian.PutUint32(log[at[1]+lengthPosition:], 1<<31-13)
	f := open(t, log)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	seen := walk(NewReader(f, 0, f.SizeInBytes))
	runtime.ReadMemStats(&after)
	if len(seen) != 2 || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%v, %d bytes", seen, after.TotalAlloc-before.TotalAlloc)
	}
}

// Damage is passed: the next batch is one with a right checksum whose offsets fit.
func TestResync(t *testing.T) {
	log, at := logOf(200, 300, 400, 500, 600)
	log[at[1]+lengthPosition] = 0x7f            // nothing can follow it
	log[at[2]+70] ^= 1                          // its checksum is wrong
	binary.BigEndian.PutUint64(log[at[3]:], 77) // its offset does not fit
	f := open(t, log)
	r := NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	if !r.Next() || r.Next() || r.Position() != at[1] {
		t.Fatalf("stopped at %d", r.Position())
	}
	r.Rewind(r.Position())
	if ok, err := r.Resync(1, 10); !ok || err != nil || r.Position() != at[4] {
		t.Errorf("at %d, want %d: %v %v", r.Position(), at[4], ok, err)
	}
	if !r.Next() || r.Header().BaseOffset != 4 || r.Next() {
		t.Errorf("%+v", r.Header())
	}
	r.Rewind(at[1])
	if ok, err := r.Resync(1, 3); ok || err != nil || r.Position() != f.SizeInBytes {
		t.Errorf("offsets up to 3: at %d, %v %v", r.Position(), ok, err)
	}
}

// A batch that begins anywhere in what is searched at a time is found.
func TestResyncFindsAnywhere(t *testing.T) {
	for _, junk := range []int{1, 16, 17, 18, resyncStep - 18, resyncStep - 17, resyncStep - 16, resyncStep - 1, resyncStep, resyncStep + 1, 2*resyncStep + 5} {
		f := open(t, append(bytes.Repeat([]byte{0xee}, junk), batch(5, 300)...))
		r := NewReader(f, 0, f.SizeInBytes)
		if ok, err := r.Resync(0, 10); !ok || err != nil || r.Position() != int64(junk) {
			t.Errorf("behind %d bytes: at %d, %v %v", junk, r.Position(), ok, err)
		}
		r.Close()
	}
}

func TestZeros(t *testing.T) {
	log, _ := logOf(200)
	for n, last := range map[int]byte{10: 0, 200 << 10: 0, 200<<10 + 1: 1} {
		tail := make([]byte, n)
		tail[n-1] = last
		f := open(t, append(bytes.Clone(log), tail...))
		r := NewReader(f, 0, f.SizeInBytes)
		for r.Next() {
		}
		r.Rewind(int64(len(log)))
		if got, err := r.Zeros(); got != (last == 0) || err != nil {
			t.Errorf("%d bytes: %v %v", n, got, err)
		}
		r.Close()
	}
}

// A file that grows is followed, and one that becomes shorter is an error.
func TestFileThatChanges(t *testing.T) {
	log, at := logOf(200, 300, 400)
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, "/x.log", log[:at[1]+7])
	f, err := Open(fsys, "/x.log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	if !r.Next() || r.Next() || r.Err() != nil {
		t.Fatal(r.Err())
	}
	w, err := fsys.OpenFile("/x.log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteAt(log[at[1]:], at[1]); err != nil {
		t.Fatal(err)
	}
	r.SetEnd(int64(len(log)))
	if !r.Next() || !r.Next() || r.Header().BaseOffset != 2 || r.Next() {
		t.Errorf("%+v %v", r.Header(), r.Err())
	}
	r.Rewind(0)
	r.SetEnd(int64(len(log)))
	if err := w.Truncate(10); err != nil {
		t.Fatal(err)
	}
	if r.Next() || !errors.Is(r.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("shorter: %v", r.Err())
	}
}

// many is a log that is long enough to be read ahead.
func many() (log []byte) {
	for i := range 300 {
		log = append(log, batch(int64(i), 16<<10)...)
	}
	return log
}

// What cannot be read ends the walk with the reason, behind all that could.
func TestUnreadable(t *testing.T) {
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, "/x.log", many())
	broken, reads := errors.New("input/output error"), 0
	var mu sync.Mutex
	f, err := Open(vfs.NewFault(fsys, func(o vfs.Op) error {
		if o.Kind != vfs.OpRead {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if reads++; reads > 5 {
			return broken
		}
		return nil
	}), "/x.log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := walk(NewReader(f, 0, f.SizeInBytes))
	if n := len(seen); n > 200 || !strings.Contains(seen[n-1], broken.Error()) {
		t.Errorf("%d lines, %s", n, seen[n-1])
	}
}

// LGF-4: a walk that is given up leaves no goroutine (the leak check of TestMain sees the rest).
func TestGivenUp(t *testing.T) {
	f := open(t, many())
	r := NewReader(f, 0, f.SizeInBytes)
	if !r.Next() || r.ahead == nil {
		t.Fatal("not read ahead")
	}
	r.Close()
	r.Close()
}
