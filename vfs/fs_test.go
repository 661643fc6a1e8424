package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// systems runs a test on the host's file system and on Mem: they have to agree.
func systems(t *testing.T, test func(t *testing.T, fsys FS, root string)) {
	t.Run("os", func(t *testing.T) { test(t, NewOS(), t.TempDir()) })
	t.Run("mem", func(t *testing.T) {
		m := NewMem()
		if err := m.MkdirAll("/root", 0o755); err != nil {
			t.Fatal(err)
		}
		test(t, m, "/root")
	})
	t.Run("fault", func(t *testing.T) {
		test(t, NewFault(NewOS(), func(Op) error { return nil }), t.TempDir())
	})
}

func TestFiles(t *testing.T) {
	systems(t, func(t *testing.T, fsys FS, root string) {
		name := filepath.Join(root, "a")
		if _, err := fsys.OpenFile(name, os.O_RDWR, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("open a missing file: %v", err)
		}
		f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("create an existing file: %v", err)
		}
		steps := []error{
			second(f.WriteAt([]byte("hello"), 3)), f.Truncate(6), f.Truncate(9), second(f.WriteAt([]byte("!"), 8)), f.Sync(),
		}
		if err := errors.Join(steps...); err != nil {
			t.Fatal(err)
		}
		const want = "\x00\x00\x00hel\x00\x00!"
		if got := get(t, fsys, name); got != want {
			t.Fatalf("content %q, want %q", got, want)
		}
		buf := make([]byte, 4)
		if n, err := f.ReadAt(buf, 7); n != 2 || err != io.EOF {
			t.Fatalf("read over the end: %d %v", n, err)
		}
		if n, err := f.ReadAt(buf, 50); n != 0 || err != io.EOF {
			t.Fatalf("read behind the end: %d %v", n, err)
		}
		if _, err := f.ReadAt(buf, -1); err == nil || err == io.EOF {
			t.Fatalf("read before the begin: %v", err)
		}
		if size, err := f.Size(); size != 9 || err != nil {
			t.Fatalf("size %d %v", size, err)
		}
		// Renamed and removed files stay usable for those who have them open.
		if err := errors.Join(fsys.Rename(name, name+"2"), fsys.Remove(name+"2"), second(f.WriteAt([]byte("x"), 0))); err != nil {
			t.Fatal(err)
		}
		if n, err := f.ReadAt(buf, 0); n != 4 || err != nil || buf[0] != 'x' {
			t.Fatalf("read a removed file: %d %v %q", n, err, buf)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.ReadAt(buf, 0); !errors.Is(err, fs.ErrClosed) {
			t.Fatalf("read a closed file: %v", err)
		}
		if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Fatalf("close twice: %v", err)
		}
	})
}

func second(_ int, err error) error { return err }

func TestReadOnlyFilesCannotBeWritten(t *testing.T) {
	systems(t, func(t *testing.T, fsys FS, root string) {
		name := filepath.Join(root, "a")
		put(t, fsys, name, "abc")
		f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			t.Error("write succeeded")
		}
		if err := f.Truncate(0); err == nil {
			t.Error("truncate succeeded")
		}
		if got := get(t, fsys, name); got != "abc" {
			t.Errorf("content %q", got)
		}
	})
}

func TestDirectories(t *testing.T) {
	systems(t, func(t *testing.T, fsys FS, root string) {
		deep := filepath.Join(root, "b", "c")
		if err := errors.Join(fsys.MkdirAll(deep, 0o755), fsys.MkdirAll(deep, 0o755), fsys.SyncDir(deep)); err != nil {
			t.Fatal(err)
		}
		put(t, fsys, filepath.Join(deep, "y"), "1")
		put(t, fsys, filepath.Join(deep, "x"), "2")
		put(t, fsys, filepath.Join(root, "a"), "3")
		if err := fsys.Remove(deep); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("remove a directory that is not empty: %v", err)
		}
		if err := fsys.Rename(filepath.Join(root, "a"), filepath.Join(deep, "x")); err != nil {
			t.Fatal(err)
		}
		if err := fsys.Rename(filepath.Join(root, "b"), filepath.Join(root, "d")); err != nil {
			t.Fatal(err)
		}
		moved := filepath.Join(root, "d", "c")
		list, err := fsys.ReadDir(moved)
		if err != nil || len(list) != 2 || list[0].Name() != "x" || list[1].Name() != "y" || list[0].IsDir() {
			t.Fatalf("list %v %v", list, err)
		}
		if got := get(t, fsys, filepath.Join(moved, "x")); got != "3" {
			t.Errorf("replaced file holds %q", got)
		}
		if err := fsys.MkdirAll(filepath.Join(moved, "x", "sub"), 0o755); err == nil {
			t.Error("made a directory below a file")
		}
		if _, err := fsys.ReadDir(filepath.Join(moved, "x")); err == nil {
			t.Error("listed a file")
		}
		if _, err := fsys.ReadDir(deep); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("list the old name: %v", err)
		}
		when := time.Unix(1700000000, 0)
		if err := fsys.Chtimes(filepath.Join(moved, "x"), when); err != nil {
			t.Fatal(err)
		}
		info, err := fsys.Stat(filepath.Join(moved, "x"))
		if err != nil || !info.ModTime().Equal(when) || info.Size() != 1 || info.IsDir() || info.Name() != "x" {
			t.Errorf("stat %v %v", info, err)
		}
		if err := errors.Join(fsys.RemoveAll(filepath.Join(root, "d")), fsys.RemoveAll(filepath.Join(root, "d"))); err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.Stat(moved); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stat after removal: %v", err)
		}
		if err := fsys.Remove(moved); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("remove a missing file: %v", err)
		}
		if err := fsys.Rename(moved, moved+"2"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("rename a missing file: %v", err)
		}
		total, usable, err := fsys.Usage(root)
		if err != nil || total == 0 || usable > total {
			t.Errorf("usage %d %d %v", total, usable, err)
		}
		if _, _, err := fsys.Usage(moved); err == nil {
			t.Error("usage of a missing directory")
		}
	})
}

func TestLock(t *testing.T) {
	systems(t, func(t *testing.T, fsys FS, root string) {
		name := filepath.Join(root, ".lock")
		first, err := fsys.Lock(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a refused attempt must not drop the lock, which closing its descriptor would do to a POSIX lock
			if _, err := fsys.Lock(name); !errors.Is(err, ErrLocked) {
				t.Fatalf("second lock: %v", err)
			}
		}
		put(t, fsys, name+"2", "")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := fsys.Lock(name)
		if err != nil {
			t.Fatalf("lock after release: %v", err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.Stat(name); err != nil {
			t.Errorf("the file is gone: %v", err)
		}
	})
}
