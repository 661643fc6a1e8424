package storage

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/vfs"
)

// overflowingDisk has the log of overflowing, all of it durable, and what is in it.
func overflowingDisk(t *testing.T) (*vfs.Mem, []string) {
	t.Helper()
	mem := disk(t)
	want := worldOn(t, mem).overflowing(false)
	if err := errors.Join(mem.SyncDir("/data/t-0"), mem.SyncDir("/data")); err != nil {
		t.Fatal(err)
	}
	return mem, want
}

// holds opens what is on a disk, twice, and compares.
func (w *world) holds(t *testing.T, at string, want []string) {
	t.Helper()
	for range 2 {
		l, err := Open(w.options())
		if err != nil {
			t.Fatalf("%s: open: %v", at, err)
		}
		if got := w.contents(l); !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", at, got, want)
		}
		if n := len(l.Segments()); n != 4 {
			t.Fatalf("%s: %d segments", at, n)
		}
		for _, e := range w.events {
			if e.Kind == DamageKept || e.Kind == SegmentsDropped || e.Kind == TailCut {
				t.Fatalf("%s: %v", at, e)
			}
		}
		l.Abandon()
	}
}

// TestCrashWhileSplitting cuts the power before every operation of a start that divides an overflowing segment: the next
// start finds all records, whether it has to begin anew or to go on.
func TestCrashWhileSplitting(t *testing.T) {
	mem, want := overflowingDisk(t)
	type moment struct {
		op    string
		image *vfs.Mem
	}
	var moments []moment
	n := uint64(0)
	w := worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind.Changes() {
			n++
			moments = append(moments, moment{op.String(), mem.Crash()})
			for seed := range longtest.Pick(uint64(4), 200) {
				moments = append(moments, moment{op.String(), mem.CrashKeeping(seed<<32 + n)})
			}
		}
		return nil
	}))
	l := w.open()
	l.Abandon()
	swapping := 0
	for _, m := range moments {
		worldOn(t, m.image).holds(t, "cut before "+m.op, want)
		if strings.Contains(m.op, ".swap") {
			swapping++
		}
	}
	if swapping < 20 {
		t.Fatalf("only %d cuts while swapping", swapping)
	}
	t.Logf("%d cuts, %d images, %d of them while swapping", n, len(moments), swapping)
}

// TestFaultWhileSplitting lets every operation of such a start fail: it says so, and the next start finds everything.
func TestFaultWhileSplitting(t *testing.T) {
	boom := errors.New("boom")
	for n := int64(1); ; n++ {
		mem, want := overflowingDisk(t)
		what := ""
		inject := vfs.FailNth(n, func(op vfs.Op) bool { return op.Kind.Changes() }, boom)
		w := worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
			err := inject(op)
			if err != nil {
				what = op.String()
			}
			return err
		}))
		l, err := Open(w.options())
		if err == nil {
			l.Abandon()
		}
		if what == "" {
			if err != nil || n < 20 {
				t.Fatalf("%d faults, %v", n-1, err)
			}
			t.Logf("%d faults injected", n-1)
			return
		}
		if !errors.Is(err, boom) || !errors.Is(err, ErrStorage) {
			t.Fatalf("fault at %s: %v", what, err)
		}
		worldOn(t, mem).holds(t, "after a fault at "+what, want)
	}
}
