package savepoint

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unpack puts a directory that Apache Kafka left at dir; see the package above for what is in them.
func unpack(t testing.TB, fsys vfs.FS, name, dir string) {
	t.Helper()
	for h, b := range testarchive.Files(t, "../testdata/"+name+".tar.zst") {
		path := filepath.Join(dir, h.Name)
		if h.Typeflag != tar.TypeReg {
			must(t, fsys.MkdirAll(path, 0o755))
			continue
		}
		put(t, fsys, path, b)
		must(t, fsys.Chtimes(path, h.ModTime))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	must(t, fsys.MkdirAll(filepath.Dir(path), 0o755))
	f, err := fsys.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	must(t, err)
	_, err = f.WriteAt(bytes.TrimRight(b, "\x00"), 0)
	must(t, errors.Join(err, f.Truncate(int64(len(b))), f.Sync(), f.Close()))
}

func get(t testing.TB, fsys vfs.FS, path string) (b []byte) {
	t.Helper()
	must(t, open(fsys, path, func(f vfs.File, size int64) error {
		b = make([]byte, size)
		return readFull(f, b, 0)
	}))
	return b
}

// syncAll makes all names below dir durable.
func syncAll(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.IsDir() {
			syncAll(t, fsys, filepath.Join(dir, e.Name()))
		}
	}
	must(t, fsys.SyncDir(dir))
}

// tree is the name, permissions, size, time and content of every file below dir, and the name of every directory.
func tree(t testing.TB, fsys vfs.FS, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	var walk func(at string)
	walk = func(at string) {
		entries, err := fsys.ReadDir(at)
		must(t, err)
		for _, e := range entries {
			path := filepath.Join(at, e.Name())
			info, err := e.Info()
			must(t, err)
			if e.IsDir() {
				out[path] = "directory"
				walk(path)
				continue
			}
			time := info.ModTime().UnixNano()
			if e.Name() == lockFile {
				time = 0
			}
			out[path] = fmt.Sprintf("%v %d bytes, %d, %x", info.Mode().Perm(), info.Size(), time, sha256.Sum256(get(t, fsys, path)))
		}
	}
	walk(dir)
	return out
}

func sameTree(t testing.TB, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			t.Errorf("%s: is %q, was %q", path, got[path], want[path])
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: is new", path)
		}
	}
}

func save(t testing.TB, fsys vfs.FS, dirs ...string) *Summary {
	t.Helper()
	must(t, fsys.MkdirAll("/save", 0o755))
	must(t, fsys.SyncDir("/"))
	sum, err := Create(context.Background(), Options{FS: fsys, Dirs: dirs, File: "/save/one", Now: func() time.Time { return time.UnixMilli(1800000000000) }})
	must(t, err)
	return sum
}

func rollBack(t testing.TB, fsys vfs.FS) *Plan {
	t.Helper()
	p, err := Rollback(context.Background(), fsys, "/save/one", nil)
	must(t, err)
	return p
}
