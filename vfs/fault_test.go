package vfs

import (
	"errors"
	"os"
	"strings"
	"testing"
)

var errTest = errors.New("test error")

func TestFaultFailsTheNthOperation(t *testing.T) {
	ops := func(fsys FS) error {
		if err := fsys.MkdirAll("/d", 0o755); err != nil {
			return err
		}
		f, err := fsys.OpenFile("/d/a", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		err = errors.Join(second(f.WriteAt([]byte("abc"), 0)), second(f.ReadAt(make([]byte, 1), 0)), f.Truncate(1), f.Sync())
		_, sizeErr := f.Size()
		_, statErr := fsys.Stat("/d/a")
		_, listErr := fsys.ReadDir("/d")
		lock, lockErr := fsys.Lock("/d/.lock")
		if lockErr == nil {
			lockErr = lock.Close()
		}
		return errors.Join(err, sizeErr, f.Close(), statErr, listErr, lockErr, fsys.SyncDir("/d"), fsys.Rename("/d/a", "/d/b"),
			fsys.Remove("/d/b"), fsys.RemoveAll("/d"))
	}
	clean := NewFault(NewMem(), func(Op) error { return nil })
	if err := ops(clean); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= clean.Count(); n++ {
		var failed Op
		inject := FailNth(n, func(op Op) bool { failed = op; return true }, errTest)
		done := false
		err := ops(NewFault(NewMem(), func(op Op) error {
			if done {
				return nil
			}
			err := inject(op)
			done = err != nil
			return err
		}))
		if !errors.Is(err, errTest) || !strings.Contains(err.Error(), failed.Path) {
			t.Errorf("operation %d (%v): %v", n, failed, err)
		}
	}
}

func TestFaultPartialWrite(t *testing.T) {
	m := NewMem()
	fsys := NewFault(m, FailNth(1, func(op Op) bool { return op.Kind == OpWrite && op.Path == "/a" }, &Partial{Keep: 2, Err: errTest}))
	f, err := fsys.OpenFile("/a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt([]byte("abc"), 0); n != 2 || !errors.Is(err, errTest) {
		t.Errorf("partial write: %d %v", n, err)
	}
	if got := get(t, m, "/a"); got != "ab" {
		t.Errorf("content %q", got)
	}
	if !OpWrite.Changes() || OpRead.Changes() {
		t.Error("Changes tells the wrong ones")
	}
}
