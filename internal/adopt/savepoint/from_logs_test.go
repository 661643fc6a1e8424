package savepoint

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/samsalog/samsa/internal/adopt/fromlogs"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// The way back from metadata that was made for two directories of ZooKeeper's time, cut at every operation: either the
// metadata directory says that it is a KRaft node's, and then a broker opens both; or both are ZooKeeper's again.
func TestRollbackOfFromLogsCutAnywhere(t *testing.T) {
	dirs := []string{"/data", "/more"}
	origin := vfs.NewMem()
	unpack(t, origin, "kafka-3.9.1-zookeeper", "/data")
	testarchive.Put(t, origin, "/more/meta.properties", testarchive.Get(t, origin, "/data/meta.properties"))
	must(t, origin.Rename("/data/first-0", "/more/first-0"))
	testarchive.SyncAll(t, origin, "/")
	both := func(fsys vfs.FS) map[string]string {
		out := tree(t, fsys, "/data")
		for path, text := range tree(t, fsys, "/more") {
			out[path] = text
		}
		return out
	}
	want := both(origin)
	save(t, origin, dirs...)
	p, err := fromlogs.Make(context.Background(), fromlogs.Options{FS: origin, Dirs: dirs, NodeID: checkpoint.NoNodeID})
	must(t, err)
	must(t, p.Apply())
	testarchive.SyncAll(t, origin, "/")
	first := int64(0) // operation that changes something but locks
	_, err = Rollback(context.Background(), vfs.NewFault(origin.Crash(), func(o vfs.Op) error {
		if first == 0 && o.Kind.Changes() && filepath.Base(o.Path) != lockFile {
			first = o.N
		}
		return nil
	}), "/save/one", nil)
	must(t, err)
	seen := map[[2]int]int{}
	for n := first; ; n += longtest.Pick(int64(9), int64(1)) {
		mem := origin.Crash()
		if _, err := Rollback(context.Background(), cutAt(mem, n), "/save/one", nil); err == nil {
			sameTree(t, both(mem), want)
			break
		}
		for _, left := range lefts(mem, uint64(n)) {
			v := [2]int{version(t, left, "/data"), version(t, left, "/more")}
			seen[v]++
			if v[0] == 1 {
				opens(t, left, dirs)
			} else if v[1] == 1 {
				t.Errorf("the metadata directory is ZooKeeper's before the other one is")
			}
			rollBack(t, left)
			sameTree(t, both(left), want)
			if t.Failed() {
				t.Fatalf("cut at operation %d", n)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("versions of meta.properties: %v", seen)
	}
	t.Logf("versions of meta.properties at the cuts: %v", seen)
}

func version(t *testing.T, fsys vfs.FS, dir string) int {
	t.Helper()
	meta, err := checkpoint.ReadMetaProperties(fsys, dir+"/meta.properties")
	must(t, err)
	return meta.Version
}

// opens tries whether the rooms of a broker take the directories.
func opens(t *testing.T, fsys vfs.FS, dirs []string) {
	t.Helper()
	m, err := logdir.Open(logdir.Options{FS: fsys, Dirs: dirs, MetadataDir: dirs[0]})
	must(t, err)
	must(t, m.Close())
}
