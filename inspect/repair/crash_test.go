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
	want := testdir.Tree(t, origin, "/data")
	total := int64(0)
	step := longtest.Pick(int64(37), int64(1))
	cuts := 0
	for n := int64(1); ; n += step {
		fsys := origin.Crash()
		stop := errors.New("power failure")
		cut := vfs.NewFault(fsys, func(o vfs.Op) error {
			if o.N >= n && o.Kind.Changes() {
				return stop
			}
			return nil
		})
		_, err := Run(context.Background(), options(cut), nil)
		if err == nil {
			total = n
			break
		}
		cuts++
		for _, left := range []*vfs.Mem{fsys.Crash(), fsys.CrashKeeping(uint64(n))} {
			again := left.Crash()
			result, err := Run(context.Background(), options(again), nil)
			if err != nil {
				t.Fatalf("cut at %d: going on: %v", n, err)
			}
			for _, f := range findings(t, again, "/data") {
				if f.Rule != "offset-gap" {
					t.Fatalf("cut at %d: still %v", n, f)
				}
			}
			if _, err := Undo(context.Background(), again, result.Journal); err != nil {
				t.Fatalf("cut at %d: undo after going on: %v", n, err)
			}
			testdir.Same(t, testdir.Tree(t, again, "/data"), want)
			journals, err := Journals(left, "/data")
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range journals {
				if _, err := Undo(context.Background(), left, j); err != nil {
					t.Fatalf("cut at %d: undo: %v", n, err)
				}
			}
			testdir.Same(t, testdir.Tree(t, left, "/data"), want)
			if t.Failed() {
				t.Fatalf("cut at %d", n)
			}
		}
	}
	t.Logf("cut at %d places of %d operations", cuts, total)
	undoCutAnywhere(t, origin, want, step)
}

func undoCutAnywhere(t *testing.T, origin *vfs.Mem, want map[string]string, step int64) {
	repaired := origin.Crash()
	result, err := Run(context.Background(), options(repaired), nil)
	if err != nil {
		t.Fatal(err)
	}
	testdir.SyncAll(t, repaired, "/")
	for n := int64(1); ; n += step {
		fsys := repaired.Crash()
		cut := vfs.NewFault(fsys, func(o vfs.Op) error {
			if o.N >= n && o.Kind.Changes() {
				return errors.New("power failure")
			}
			return nil
		})
		if _, err := Undo(context.Background(), cut, result.Journal); err == nil {
			return
		}
		left := fsys.Crash()
		if journals, err := Journals(left, "/data"); err != nil || len(journals) == 1 {
			if _, err := Run(context.Background(), options(left.Crash()), nil); n > 20 && !errors.Is(err, ErrUnfinished) && err != nil {
				t.Fatalf("undo cut at %d: %v", n, err)
			}
			if _, err := Undo(context.Background(), left, result.Journal); err != nil {
				t.Fatalf("undo cut at %d: %v", n, err)
			}
		}
		testdir.Same(t, testdir.Tree(t, left, "/data"), want)
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
