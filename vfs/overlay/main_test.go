package overlay

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tester is what helpers need of a test.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// frozen is a file system that fails the test when it is changed, or opened for that (OVL-1).
func frozen(t tester, inner vfs.FS) vfs.FS {
	return vfs.NewFault(inner, func(op vfs.Op) error {
		if op.Kind.Changes() || op.Kind == vfs.OpOpen && op.Flag != os.O_RDONLY {
			t.Fatalf("the base was touched: %v", op)
		}
		return nil
	})
}

// write makes or replaces a file.
func write(t tester, fsys vfs.FS, name, content string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatalf("%v", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatalf("%v", err)
	}
}

// content reads a whole file.
func content(t tester, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatalf("%v", err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatalf("%v", err)
	}
	b := make([]byte, size+1)
	n, err := f.ReadAt(b, 0)
	if !errors.Is(err, io.EOF) || int64(n) != size {
		t.Fatalf("%s: read %d of %d bytes: %v", name, n, size, err)
	}
	if err := f.Close(); err != nil {
		t.Fatalf("%v", err)
	}
	return string(b[:n])
}

// tree lists everything below a directory: contents of files, directory for directories.
func tree(t tester, fsys vfs.FS, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := fsys.Stat(path)
		if err != nil || info.Name() != e.Name() || info.IsDir() != e.IsDir() {
			t.Fatalf("%s is listed as %v and described as %v, %v", path, e, info, err)
		}
		if e.IsDir() {
			out[path] = directory
			for k, v := range tree(t, fsys, path) {
				out[k] = v
			}
			continue
		}
		out[path] = content(t, fsys, path)
		if info.Size() != int64(len(out[path])) {
			t.Fatalf("%s has %d bytes and is said to have %d", path, len(out[path]), info.Size())
		}
	}
	return out
}

// kind sorts errors: what a caller can tell apart.
func kind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "missing"
	case errors.Is(err, fs.ErrClosed):
		return "closed"
	}
	return "refused"
}

// directory stands for a directory where contents of files do.
const directory = "(directory)"
