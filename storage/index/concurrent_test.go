package index

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// TestI07UseDuringRenameAndClose looks up, loads, renames and closes at the same time, with few descriptors: every
// answer is right or says that the index is closed. It is meaningful under the race detector.
func TestI07UseDuringRenameAndClose(t *testing.T) {
	fsys, dir := vfs.NewOS(), t.TempDir()
	h := vfs.NewHandles(fsys, 2)
	const n = 4000
	for round := range 5 {
		path := filepath.Join(dir, fmt.Sprintf("%d.index", round))
		build, err := CreateOffset(h, path, 0, 8*n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := build.Append(record.Offset(2*i), Position(10*i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(build.Seal(), build.Close()); err != nil {
			t.Fatal(err)
		}
		x, err := OpenOffset(h, path, 0, 8*n, false)
		if err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		var done atomic.Int64
		for g := range 3 {
			readers.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				for {
					target := r.IntN(2 * n)
					off, pos, err := x.Lookup(record.Offset(target))
					if errors.Is(err, fs.ErrClosed) {
						return
					}
					if err != nil || int(off) != target/2*2 || int(pos) != target/2*10+1 {
						t.Errorf("lookup %d: (%d, %d) %v", target, off, pos, err)
						return
					}
					done.Add(1)
				}
			})
		}
		for done.Load() < 300 {
		}
		renamed := path + ".deleted"
		if err := fsys.Rename(path, renamed); err != nil {
			t.Fatal(err)
		}
		x.Renamed(renamed)
		for now := done.Load(); done.Load() < now+300; {
			if _, _, err := x.Lookup(0); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		readers.Wait()
		if err := fsys.Remove(renamed); err != nil {
			t.Fatal(err)
		}
	}
}

// TestI08AppendsStayInOrder lets one writer append, truncate and seal while readers look up: what they see is in order
// and below what was appended, at every moment.
func TestI08AppendsStayInOrder(t *testing.T) {
	h := vfs.NewHandles(vfs.NewMem(), 2)
	x, err := CreateOffset(h, "/0.index", 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	y, err := CreateTime(h, "/0.timeindex", 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for g := range 2 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for !stop.Load() {
				target := record.Offset(r.IntN(20000))
				off, pos, err := x.Lookup(target)
				if err != nil || off > target || pos != Position(off)*3 {
					t.Errorf("lookup %d: (%d, %d) %v", target, off, pos, err)
				}
				ts, off, err := y.Lookup(int64(target))
				if err != nil || ts > int64(target) || ts >= 0 && int64(off) != ts {
					t.Errorf("lookup time %d: (%d, %d) %v", target, ts, off, err)
				}
				if off, ok, err := x.UpperBound(Position(target), 100); err != nil || ok && int64(off)*3 < int64(target)+100 {
					t.Errorf("upper bound of %d: %d %v", target, off, err)
				}
			}
		})
	}
	next := 1
	for round := range 60 {
		for range 700 {
			if err := errors.Join(x.Append(record.Offset(next), Position(next*3)), y.Append(int64(next), record.Offset(next), false)); err != nil {
				t.Fatal(err)
			}
			next++
		}
		switch round % 5 {
		case 1:
			next -= next / 3
			if err := errors.Join(x.Truncate(record.Offset(next)), y.Truncate(record.Offset(next))); err != nil {
				t.Fatal(err)
			}
		case 3:
			if err := errors.Join(x.Seal(), y.Seal(), x.Truncate(record.Offset(next)), y.Truncate(record.Offset(next))); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop.Store(true)
	readers.Wait()
	if err := errors.Join(x.Sanity(), y.Sanity()); err != nil || x.Entries() != next-1 || y.Entries() != next-1 {
		t.Errorf("%d and %d entries, want %d: %v", x.Entries(), y.Entries(), next-1, err)
	}
}

// counter counts what is read through it.
type counter struct{ opens, reads, most atomic.Int64 }

func (c *counter) fs(inner vfs.FS) vfs.FS {
	return vfs.NewFault(inner, func(op vfs.Op) error {
		switch op.Kind {
		case vfs.OpOpen, vfs.OpStat:
			c.opens.Add(1)
		case vfs.OpRead:
			c.reads.Add(1)
		}
		return nil
	})
}

// TestI05LookupReadsOneBlock counts reads: nothing before the first lookup, one read for the warm part, none for a warm
// lookup, and one for any other once the way to it is known.
func TestI05LookupReadsOneBlock(t *testing.T) {
	m := vfs.NewMem()
	const n = 100_000
	offsets, times := make([][2]uint32, n), make([][2]int64, n)
	for i := range n {
		offsets[i], times[i] = [2]uint32{uint32(i), uint32(i)*4096 + 1}, [2]int64{int64(i), int64(i)}
	}
	writeFile(t, m, "/0.index", offsetBytes(offsets...))
	writeFile(t, m, "/0.timeindex", timeBytes(times...))
	var c counter
	h := vfs.NewHandles(c.fs(m), 4)
	x, err := OpenOffset(h, "/0.index", 0, 10<<20, false)
	if err != nil {
		t.Fatal(err)
	}
	y, err := OpenTime(h, "/0.timeindex", 0, 10<<20, false)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, reads int64, lookup func()) {
		t.Helper()
		before := c.reads.Load()
		lookup()
		if got := c.reads.Load() - before; got > reads {
			t.Errorf("%s: %d reads, want %d", what, got, reads)
		}
	}
	if c.opens.Load() != 0 {
		t.Errorf("opening an index touched the file %d times", c.opens.Load())
	}
	at := func(i int) {
		if off, _, err := x.Lookup(record.Offset(i)); err != nil || int(off) != i {
			t.Fatalf("lookup %d: %d %v", i, off, err)
		}
		if ts, _, err := y.Lookup(int64(i)); err != nil || int(ts) != i {
			t.Fatalf("lookup time %d: %d %v", i, ts, err)
		}
	}
	expect("first lookup, warm", 2, func() { at(n - 1) })
	expect("warm", 0, func() {
		for i := n - warmBytes/timeEntry; i < n; i++ {
			at(i)
		}
	})
	expect("first cold one, by offset", 3, func() {
		if off, _, err := x.Lookup(n / 3); err != nil || off != n/3 {
			t.Fatalf("lookup: %d %v", off, err)
		}
	})
	expect("first cold one", 3+10, func() { at(n / 2) })
	expect("the same again", 2, func() { at(n / 2) })
	for i := 0; i < n; i += 100 {
		at(i)
	}
	expect("cold", 2*1000, func() {
		for i := 0; i < n; i += 100 {
			at(i)
		}
	})
	if c.opens.Load() != 2 {
		t.Errorf("%d opens for two files", c.opens.Load())
	}
}

// TestR25CloseTouchesNothing: sealed indexes that were never looked into are renamed, synced and closed without a file
// operation.
func TestR25CloseTouchesNothing(t *testing.T) {
	var c counter
	h := vfs.NewHandles(c.fs(vfs.NewMem()), 4)
	for i := range 1000 {
		x, err := OpenOffset(h, fmt.Sprintf("/%d.index", i), 0, 10<<20, false)
		if err != nil {
			t.Fatal(err)
		}
		y, err := OpenTime(h, fmt.Sprintf("/%d.timeindex", i), 0, 10<<20, false)
		if err != nil {
			t.Fatal(err)
		}
		x.Renamed("/x")
		y.Renamed("/y")
		if err := errors.Join(x.Seal(), y.Seal(), x.Sync(), y.Sync(), x.Close(), y.Close(), x.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.opens.Load() + c.reads.Load(); n != 0 {
		t.Errorf("%d file operations", n)
	}
}

// TestFaults lets every operation of a life fail once: the error comes out, and after Reset the index works.
func TestFaults(t *testing.T) {
	errTest := errors.New("test error")
	life := func(fsys vfs.FS) (*Offset, error) {
		h := vfs.NewHandles(fsys, 1)
		x, err := CreateOffset(h, "/0.index", 0, 1<<20)
		if err != nil {
			return nil, err
		}
		for i := range 3000 {
			if err := x.Append(record.Offset(i), Position(i)); err != nil {
				return x, err
			}
		}
		if err := x.Sync(); err != nil {
			return x, err
		}
		if _, _, err := x.Lookup(5); err != nil {
			return x, err
		}
		if err := x.Truncate(700); err != nil {
			return x, err
		}
		if err := x.Seal(); err != nil {
			return x, err
		}
		return x, x.Sync()
	}
	count := vfs.NewFault(vfs.NewMem(), func(vfs.Op) error { return nil })
	if _, err := life(count); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d faults injected", count.Count())
	for n := int64(1); n <= count.Count(); n++ {
		var failed vfs.Op
		fsys := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if op.N == n {
				failed = op
				return errTest
			}
			return nil
		})
		x, err := life(fsys)
		if failed.Kind == vfs.OpClose {
			continue // closing a descriptor to make room: what was written is in the page cache
		}
		if !errors.Is(err, errTest) {
			t.Errorf("%v: %v", failed, err)
		}
		if x == nil {
			continue
		}
		if err := errors.Join(x.Reset(), x.Append(5, 5), x.Seal(), x.Sanity()); err != nil || x.Entries() != 1 {
			t.Errorf("%v, then reset: %v", failed, err)
		}
	}
}
