package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// counting counts the files that are open and fails when a file is used after its Close.
type counting struct {
	*Mem
	open, most, opens atomic.Int64
}

type countedFile struct {
	File
	fs *counting
}

func (c *counting) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := c.Mem.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	c.opens.Add(1)
	n := c.open.Add(1)
	for {
		most := c.most.Load()
		if n <= most || c.most.CompareAndSwap(most, n) {
			return countedFile{f, c}, nil
		}
	}
}

func (f countedFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}

func files(t *testing.T, m *Mem, n int) {
	t.Helper()
	for i := range n {
		put(t, m, fmt.Sprintf("/%d", i), fmt.Sprint(i))
	}
}

func TestHandlesBoundOpenFiles(t *testing.T) {
	c := &counting{Mem: NewMem()}
	files(t, c.Mem, 20)
	pool := NewHandles(c, 4)
	var all []*Handle
	for i := range 20 {
		h, err := pool.Open(fmt.Sprintf("/%d", i), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
		f, err := h.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(fmt.Append(nil, i), 0); err != nil {
			t.Fatal(err)
		}
		h.Release()
	}
	if c.most.Load() > 4 {
		t.Errorf("%d files were open at once", c.most.Load())
	}
	for i, h := range all { // reopening must not truncate again
		f, err := h.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, len(fmt.Sprint(i)))
		if _, err := f.ReadAt(buf, 0); err != nil || string(buf) != fmt.Sprint(i) {
			t.Errorf("file %d: %q %v", i, buf, err)
		}
		h.Release()
	}
	for _, h := range all {
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if c.open.Load() != 0 || pool.OpenCount() != 0 {
		t.Errorf("%d files left open, the pool says %d", c.open.Load(), pool.OpenCount())
	}
}

func TestHandlesSecondChance(t *testing.T) {
	c := &counting{Mem: NewMem()}
	files(t, c.Mem, 40)
	pool := NewHandles(c, 4)
	use := func(h *Handle) {
		t.Helper()
		if _, err := h.Acquire(); err != nil {
			t.Fatal(err)
		}
		h.Release()
	}
	hot := pool.Lazy("/0", os.O_RDONLY)
	use(hot)
	for i := 1; i < 40; i++ {
		use(pool.Lazy(fmt.Sprintf("/%d", i), os.O_RDONLY))
		use(hot)
	}
	if opens := c.opens.Load(); opens > 40+40/3 {
		t.Errorf("%d openings for 40 files of which one is used all the time", opens)
	}
}

func TestHandlesAllAcquired(t *testing.T) {
	c := &counting{Mem: NewMem()}
	files(t, c.Mem, 5)
	pool := NewHandles(c, 2)
	var held []*Handle
	for i := range 5 {
		h := pool.Lazy(fmt.Sprintf("/%d", i), os.O_RDONLY)
		if _, err := h.Acquire(); err != nil {
			t.Fatal(err)
		}
		held = append(held, h)
	}
	if pool.OpenCount() != 5 {
		t.Errorf("%d open, all 5 are acquired", pool.OpenCount())
	}
	for _, h := range held {
		h.Release()
	}
	if pool.OpenCount() > 2 {
		t.Errorf("%d stay open after the rush", pool.OpenCount())
	}
}

func TestHandleClose(t *testing.T) {
	c := &counting{Mem: NewMem()}
	files(t, c.Mem, 1)
	h := NewHandles(c, 2).Lazy("/0", os.O_RDONLY)
	f, err := h.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Acquire(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("acquire after close: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
		t.Errorf("read what was acquired before: %v", err)
	}
	h.Release()
	if c.open.Load() != 0 {
		t.Error("the last release left the file open")
	}
}

func TestHandleRenamed(t *testing.T) {
	m := NewMem()
	files(t, m, 3)
	pool := NewHandles(m, 1)
	h, err := pool.Open("/0", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Rename("/0", "/x"); err != nil {
		t.Fatal(err)
	}
	h.Renamed("/x")
	if _, err := pool.Lazy("/1", os.O_RDONLY).Acquire(); err != nil { // evicts
		t.Fatal(err)
	}
	if _, err := h.Acquire(); err != nil || h.Name() != "/x" {
		t.Errorf("reopen %s: %v", h.Name(), err)
	}
}

func TestHandlesGiveWayWhenDescriptorsRunOut(t *testing.T) {
	m := NewMem()
	files(t, m, 10)
	full := atomic.Bool{}
	fsys := NewFault(m, func(op Op) error {
		if op.Kind == OpOpen && full.CompareAndSwap(true, false) {
			return syscall.EMFILE
		}
		return nil
	})
	pool := NewHandles(fsys, 100)
	for i := range 9 {
		if _, err := pool.Open(fmt.Sprintf("/%d", i), os.O_RDONLY, 0); err != nil {
			t.Fatal(err)
		}
	}
	full.Store(true)
	if _, err := pool.Open("/9", os.O_RDONLY, 0); err != nil {
		t.Errorf("open when the process has no descriptor left: %v", err)
	}
	if n := pool.OpenCount(); n > 5 {
		t.Errorf("%d open, half of 9 should have been given back", n)
	}
}

// TestHandlesRace lets many goroutines use few descriptors while handles are renamed and closed. It is meaningful
// under the race detector, and a use after close fails without it.
func TestHandlesRace(t *testing.T) {
	c := &counting{Mem: NewMem()}
	const n = 12
	files(t, c.Mem, n)
	pool := NewHandles(c, 3)
	all := make([]*Handle, n)
	for i := range all {
		all[i] = pool.Lazy(fmt.Sprintf("/%d", i), os.O_RDONLY)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 3000 {
				i := r.IntN(n)
				f, err := all[i].Acquire()
				if errors.Is(err, fs.ErrClosed) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				buf := make([]byte, 1)
				if _, err := f.ReadAt(buf, 0); err != nil || buf[0] != fmt.Sprint(i)[0] {
					t.Errorf("file %d: %q %v", i, buf, err)
				}
				all[i].Release()
			}
		})
	}
	wg.Go(func() {
		for i := range n / 2 {
			all[2*i].Renamed(fmt.Sprintf("/%d", 2*i))
			if err := all[2*i].Close(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	for _, h := range all {
		_ = h.Close()
	}
	if c.open.Load() != 0 || pool.OpenCount() != 0 {
		t.Errorf("%d files left open, the pool says %d", c.open.Load(), pool.OpenCount())
	}
	if c.most.Load() > 3+4 {
		t.Errorf("%d files were open at once", c.most.Load())
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	m := NewMem()
	h, err := NewHandles(m, 8).Open("/a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := h.Acquire(); err != nil {
				b.Fatal(err)
			}
			h.Release()
		}
	})
}
