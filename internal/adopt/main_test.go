package adopt

import (
	"bytes"
	"crypto/sha256"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixtures are log directories that Apache Kafka left, without most of the larger partitions, which the metadata still knows, and
// with indexes that are preallocated as for segment.index.bytes=24000.
func fixtures() []string {
	return []string{"kafka-4.4.0-killed", "kafka-4.4.0-clean", "kafka-3.9.1-clean", "kafka-3.9.1-zookeeper"}
}

// unpack puts a fixture at dir.
func unpack(t testing.TB, fsys vfs.FS, name, dir string) {
	t.Helper()
	testarchive.Unpack(t, fsys, "testdata/"+name+".tar.zst", dir)
}

// digest is the name, size, time and content of everything below dir.
func digest(t testing.TB, fsys vfs.FS, dir string) map[string]any {
	t.Helper()
	type entry struct {
		dir  bool
		size int64
		time int64
		sum  [32]byte
	}
	out := map[string]any{}
	var walk func(at string)
	walk = func(at string) {
		entries, err := fsys.ReadDir(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(at, e.Name())
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			x := entry{dir: e.IsDir(), time: info.ModTime().UnixNano()}
			if e.IsDir() {
				walk(path)
			} else {
				x.size, x.sum = info.Size(), sha256.Sum256(bytes.TrimRight(testarchive.Get(t, fsys, path), "\x00"))
			}
			out[path] = x
		}
	}
	walk(dir)
	return out
}
