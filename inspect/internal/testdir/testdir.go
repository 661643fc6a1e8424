package testdir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

// Unpack reads an archive of the host into memory, below dir.
func Unpack(t testing.TB, archive, dir string) *vfs.Mem {
	t.Helper()
	fsys := vfs.NewMem()
	testarchive.Unpack(t, fsys, archive, filepath.Join("/", dir))
	return fsys
}

// Put writes a file and the directories above it.
func Put(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	testarchive.Put(t, fsys, path, b)
}

// Get is the content of a file.
func Get(t testing.TB, fsys vfs.FS, path string) []byte {
	t.Helper()
	return testarchive.Get(t, fsys, path)
}

// Edit changes a file.
func Edit(t testing.TB, fsys vfs.FS, path string, edit func(b []byte) []byte) {
	t.Helper()
	Put(t, fsys, path, edit(Get(t, fsys, path)))
}

// Flip is an Edit that changes one bit.
func Flip(at int) func(b []byte) []byte {
	return func(b []byte) []byte { b[at] ^= 1; return b }
}

// Missing reports whether there is no such file or directory.
func Missing(fsys vfs.FS, path string) bool {
	_, err := fsys.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// SyncAll makes the names below dir durable.
func SyncAll(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	testarchive.SyncAll(t, fsys, dir)
}

// Tree is the content of every file below dir, by path, but of lock files: a process that ends without its defers leaves
// them, brokers do too.
func Tree(t testing.TB, fsys vfs.FS, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			for k, v := range Tree(t, fsys, path) {
				all[k] = v
			}
		case e.Name() != ".lock":
			all[path] = string(Get(t, fsys, path))
		}
	}
	return all
}

// Same fails where two trees differ.
func Same(t testing.TB, got, want map[string]string) {
	t.Helper()
	for path, b := range want {
		if have, ok := got[path]; !ok {
			t.Errorf("%s is missing", path)
		} else if have != b {
			t.Errorf("%s: %d bytes differ from %d", path, len(have), len(b))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s should not be there", path)
		}
	}
}

// Complete adds what archives leave out to stay small: empty indexes of segments. The directory of a metadata log without its
// segments goes.
func Complete(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		stem, isLog := strings.CutSuffix(path, ".log")
		switch {
		case e.IsDir():
			Complete(t, fsys, path)
		case isLog:
			for _, suffix := range []string{".index", ".timeindex"} {
				if Missing(fsys, stem+suffix) {
					Put(t, fsys, stem+suffix, nil)
				}
			}
		case e.Name() == "quorum-state" && len(entries) == 1:
			if err := fsys.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}
