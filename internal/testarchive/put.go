package testarchive

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/vfs"
)

// Unpack puts what is in an archive below dir, durably, with the times that files have there; of the directories at its top
// only the named ones, if any are.
func Unpack(t testing.TB, fsys vfs.FS, archive, dir string, only ...string) {
	t.Helper()
	for h, b := range Files(t, archive) {
		name := filepath.ToSlash(filepath.Clean(h.Name))
		top, _, inside := strings.Cut(name, "/")
		path := filepath.Join(dir, name)
		switch {
		case len(only) > 0 && (inside || h.Typeflag == tar.TypeDir) && !slices.Contains(only, top):
		case h.Typeflag == tar.TypeDir:
			if err := fsys.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		case h.Typeflag == tar.TypeReg:
			write(t, fsys, path, b)
			if err := fsys.Chtimes(path, h.ModTime); err != nil {
				t.Fatal(err)
			}
		}
	}
	SyncAll(t, fsys, dir)
	syncAbove(t, fsys, dir)
}

// Put writes a file and the directories above it, durably.
func Put(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	write(t, fsys, path, b)
	syncAbove(t, fsys, path)
}

// write leaves zeros at the end of a file, which preallocated indexes have many of, to the file system.
func write(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.TrimRight(b, "\x00"), 0)
	if err := errors.Join(err, f.Truncate(int64(len(b))), f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// syncAbove makes the names of a path durable.
func syncAbove(t testing.TB, fsys vfs.FS, path string) {
	t.Helper()
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		if err := fsys.SyncDir(d); err != nil {
			t.Fatal(err)
		}
		if d == filepath.Dir(d) {
			return
		}
	}
}

// SyncAll makes all names below dir durable.
func SyncAll(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			SyncAll(t, fsys, filepath.Join(dir, e.Name()))
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}

// Get is the content of a file.
func Get(t testing.TB, fsys vfs.FS, path string) []byte {
	t.Helper()
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(path, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return b
}
