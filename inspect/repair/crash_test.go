package repair

import (
	"context"
	"errors"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/vfs"
)

// damaged is a directory with damage of every kind that repair knows.
func damaged(t *testing.T) *vfs.Mem {
	t.Helper()
	fsys := whole(t)
	files := testdir.Tree(t, fsys, "/data")
	change := func(path string, edit func(b []byte) []byte) { testdir.Put(t, fsys, path, edit([]byte(files[path]))) }
	flip := func(at int) func([]byte) []byte { return func(b []byte) []byte { b[at] ^= 1; return b } }
	change("/data/made-0/00000000000000000000.log", flip(5000))
	change("/data/made-0/00000000000000000200.log", flip(5000))
	change("/data/made-0/00000000000000000400.log", func(b []byte) []byte { return b[:len(b)-9] })
	change("/data/made-0/00000000000000000200.index", flip(3))
	change("/data/txn-0/00000000000000000000.txnindex", flip(20))
	change("/data/txn-0/00000000000000000271.snapshot", flip(20))
	change("/data/txn-0/00000000000000000000.log", flip(15))
	change("/data/trimmed-0/leader-epoch-checkpoint", func([]byte) []byte { return []byte("0\nx\n") })
	change("/data/recovery-point-offset-checkpoint", flip(40))
	change("/data/replication-offset-checkpoint", func(b []byte) []byte { return b[:20] })
	return fsys
}

// A power failure at every operation of a repair: the repair can be continued, and undone to the last byte (REP-2, REP-3, REP-5).
// So can an undo that was interrupted.
func TestRepairCutAnywhere(t *testing.T) {
	origin := damaged(t)
	cut{t: t, options: options, step: longtest.Pick(int64(79), int64(1)), healthy: func(fsys vfs.FS) {
		for _, f := range findings(t, fsys, "/data") {
			if f.Rule != "offset-gap" {
				t.Errorf("still %v", f)
			}
		}
	}}.anywhere(origin)
}

// The same of what is not in damaged: strays that are brought back, topic ids, and what only the metadata log has.
func TestRehomingCutAnywhere(t *testing.T) {
	origin, o := misplaced(t)
	cut{t: t, options: o, step: longtest.Pick(int64(41), int64(1)), healthy: func(fsys vfs.FS) {
		if testdir.Missing(fsys, "/data/made-0") || testdir.Missing(fsys, "/data/trimmed-1/partition.metadata") {
			t.Error("not mended")
		}
	}}.anywhere(origin)
}

// cut is a repair that power failures interrupt.
type cut struct {
	t       *testing.T
	options func(fsys vfs.FS) Options
	// step: every so many operations.
	step int64
	// healthy looks at the directory after a whole repair.
	healthy func(fsys vfs.FS)
}

func (c cut) anywhere(origin *vfs.Mem) {
	t := c.t
	want := testdir.Tree(t, origin, "/")
	total, cuts := int64(0), 0
	for n := int64(1); ; n += c.step {
		fsys := origin.Crash()
		stop := errors.New("power failure")
		failing := vfs.NewFault(fsys, func(o vfs.Op) error {
			if o.N >= n && o.Kind.Changes() {
				return stop
			}
			return nil
		})
		_, err := Run(context.Background(), c.options(failing), nil)
		if err == nil {
			total = n
			break
		}
		cuts++
		for _, left := range []*vfs.Mem{fsys.Crash(), fsys.CrashKeeping(uint64(n))} {
			again := left.Crash()
			if _, err := Run(context.Background(), c.options(again), nil); err != nil {
				t.Fatalf("cut at %d: going on: %v", n, err)
			}
			c.healthy(again)
			journals, err := Journals(again, c.home(again))
			if err != nil || len(journals) != 1 {
				t.Fatalf("cut at %d: journals %v: %v", n, journals, err)
			}
			if _, err := Undo(context.Background(), again, journals[0]); err != nil {
				t.Fatalf("cut at %d: undo after going on: %v", n, err)
			}
			testdir.Same(t, testdir.Tree(t, again, "/"), want)
			if journals, err = Journals(left, c.home(left)); err != nil {
				t.Fatal(err)
			}
			for _, j := range journals {
				if _, err := Undo(context.Background(), left, j); err != nil {
					t.Fatalf("cut at %d: undo: %v", n, err)
				}
			}
			testdir.Same(t, testdir.Tree(t, left, "/"), want)
			if t.Failed() {
				t.Fatalf("cut at %d", n)
			}
		}
	}
	t.Logf("cut at %d places of %d operations", cuts, total)
	c.undo(origin, want)
}

// home is where the journal lies.
func (c cut) home(fsys vfs.FS) string {
	if o := c.options(fsys); o.Free != nil {
		return o.Free.Aside
	}
	return "/data"
}

func (c cut) undo(origin *vfs.Mem, want map[string]string) {
	t := c.t
	repaired := origin.Crash()
	result, err := Run(context.Background(), c.options(repaired), nil)
	if err != nil {
		t.Fatal(err)
	}
	testdir.SyncAll(t, repaired, "/")
	for n := int64(1); ; n += c.step {
		fsys := repaired.Crash()
		failing := vfs.NewFault(fsys, func(o vfs.Op) error {
			if o.N >= n && o.Kind.Changes() {
				return errors.New("power failure")
			}
			return nil
		})
		if _, err := Undo(context.Background(), failing, result.Journal); err == nil {
			return
		}
		left := fsys.Crash()
		if journals, err := Journals(left, c.home(left)); err != nil || len(journals) == 1 {
			if _, err := Run(context.Background(), c.options(left.Crash()), nil); n > 20 && !errors.Is(err, ErrUnfinished) && err != nil {
				t.Fatalf("undo cut at %d: %v", n, err)
			}
			if _, err := Undo(context.Background(), left, result.Journal); err != nil {
				t.Fatalf("undo cut at %d: %v", n, err)
			}
		}
		testdir.Same(t, testdir.Tree(t, left, "/"), want)
		if t.Failed() {
			t.Fatalf("undo cut at %d", n)
		}
	}
}

func TestRefusesDirectoryInUse(t *testing.T) {
	fsys := damaged(t)
	l, err := fsys.Lock("/data/.lock")
	if err != nil {
		t.Fatal(err)
	}
	before := testdir.Tree(t, fsys, "/data")
	if _, err := Run(context.Background(), options(fsys), nil); !errors.Is(err, ErrInUse) {
		t.Errorf("%v", err)
	}
	if plan, err := MakePlan(context.Background(), options(fsys)); err != nil || len(plan.Actions) == 0 {
		t.Errorf("a plan can be made: %v", err)
	}
	testdir.Same(t, testdir.Tree(t, fsys, "/data"), before)
	_ = l.Close()
}
