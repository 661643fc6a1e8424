package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Two names of a file, on every file system: what is written through one is read through the other, and removing one
// leaves the other.
func TestLink(t *testing.T) {
	for name, c := range map[string]struct {
		fsys FS
		dir  string
	}{
		"os": {NewOS(), t.TempDir()}, "mem": {NewMem(), "/"},
		"fault": {NewFault(NewMem(), func(Op) error { return nil }), "/"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := filepath.Join(c.dir, "a"), filepath.Join(c.dir, "b")
			f, err := c.fsys.OpenFile(a, os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := Link(c.fsys, a, b); err != nil {
				t.Fatal(err)
			}
			if err := Link(c.fsys, a, b); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a file: %v", err)
			}
			if _, err := f.WriteAt([]byte("both"), 0); err != nil {
				t.Fatal(err)
			}
			x, err1 := c.fsys.Stat(a)
			y, err2 := c.fsys.Stat(b)
			if err := errors.Join(err1, err2); err != nil || !SameFile(x, y) || y.Size() != 4 {
				t.Errorf("%v %v %v", x, y, err)
			}
			if err := c.fsys.Remove(a); err != nil {
				t.Fatal(err)
			}
			if _, err := c.fsys.Stat(b); err != nil {
				t.Error(err)
			}
			if err := Link(c.fsys, a, b+"2"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("of nothing: %v", err)
			}
			if err := Link(c.fsys, c.dir, b+"3"); err == nil {
				t.Error("a directory has got a second name")
			}
		})
	}
}

func TestLinkWhereThereIsNone(t *testing.T) {
	type plain struct{ FS }
	if err := Link(plain{NewMem()}, "/a", "/b"); !errors.Is(err, ErrNoLink) {
		t.Error(err)
	}
}

// A second name counts after a crash once its directory was synced, like any other name.
func TestLinkAfterCrash(t *testing.T) {
	m := NewMem()
	f, err := m.OpenFile("/a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close(), m.SyncDir("/"), m.Link("/a", "/b")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Crash().Stat("/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the sync: %v", err)
	}
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	c := m.Crash()
	x, err1 := c.Stat("/a")
	y, err2 := c.Stat("/b")
	if err := errors.Join(err1, err2); err != nil || !SameFile(x, y) {
		t.Errorf("%v %v %v", x, y, err)
	}
}
