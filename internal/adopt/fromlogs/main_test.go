package fromlogs

import (
	"bytes"
	"maps"
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
	testarchive.Unpack(t, mem, "testdata/zookeeper.tar.zst", dir, only...)
	return mem
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
		b := testarchive.Get(t, fsys, path)
		out[path] = string(bytes.TrimRight(b, "\x00"))
	}
	return out
}
