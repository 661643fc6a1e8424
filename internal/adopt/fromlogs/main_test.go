package fromlogs

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dir = "/data"

// zooKeeper puts a directory of Apache Kafka 3.9.1 in ZooKeeper mode at dir, durably; only the named partitions if any are.
// It is a part of what the broker left: the newest segment of compacted-0 is missing.
func zooKeeper(t testing.TB, only ...string) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	wanted := map[string]bool{}
	for _, name := range only {
		wanted[name] = true
	}
	for h, b := range testarchive.Files(t, "testdata/zookeeper.tar.zst") {
		path := filepath.Join(dir, h.Name)
		if rel, _ := filepath.Rel(dir, filepath.Dir(path)); h.Typeflag != tar.TypeReg || len(only) > 0 && rel != "." && !wanted[rel] {
			continue
		}
		put(t, mem, path, b)
	}
	return mem
}

// put writes a file and makes it durable.
func put(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		if err := fsys.SyncDir(d); err != nil {
			t.Fatal(err)
		}
		if d == filepath.Dir(d) {
			return
		}
	}
}

// files are the contents of all files below a directory, by path, without trailing zeros.
func files(t testing.TB, fsys vfs.FS, at string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := fsys.ReadDir(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(at, e.Name())
		if e.IsDir() {
			maps.Copy(out, files(t, fsys, path))
			continue
		}
		f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Size()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, size)
		if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		out[path] = string(bytes.TrimRight(b, "\x00"))
	}
	return out
}
