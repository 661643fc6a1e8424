package savepoint

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
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
	testarchive.Unpack(t, fsys, "../testdata/"+name+".tar.zst", dir)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
			out[path] = fmt.Sprintf("%v %d bytes, %d, %x", info.Mode().Perm(), info.Size(), time, sha256.Sum256(testarchive.Get(t, fsys, path)))
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
