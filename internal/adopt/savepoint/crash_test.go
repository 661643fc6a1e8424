package savepoint

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/internal/adopt/internal/adopttest"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

var errPower = errors.New("power failure")

// cutAt fails every changing operation from the n-th operation on.
func cutAt(fsys vfs.FS, n int64) vfs.FS {
	return vfs.NewFault(fsys, func(o vfs.Op) error {
		if o.N >= n && o.Kind.Changes() {
			return errPower
		}
		return nil
	})
}

// lefts are what a power failure may leave of a file system.
func lefts(m *vfs.Mem, seed uint64) []*vfs.Mem { return []*vfs.Mem{m.Crash(), m.CrashKeeping(seed)} }

// Create cut at every operation: the directories are as before, and either there is no savepoint, and another Create makes one, or it is whole.
func TestCreateCutAnywhere(t *testing.T) {
	origin := vfs.NewMem()
	unpack(t, origin, "kafka-4.4.0-clean", "/data")
	must(t, origin.MkdirAll("/save", 0o755))
	testarchive.SyncAll(t, origin, "/")
	want := tree(t, origin, "/data")
	cuts := 0
	for n := int64(1); ; n += longtest.Pick(int64(97), int64(5)) {
		mem := origin.Crash()
		if _, err := Create(context.Background(), Options{FS: cutAt(mem, n), Dirs: []string{"/data"}, File: "/save/one"}); err == nil {
			break
		}
		cuts++
		for _, left := range lefts(mem, uint64(n)) {
			must(t, errors.Join(removeIf(left, "/data/.lock"))) // as after any kill
			sameTree(t, tree(t, left, "/data"), want)
			if _, err := left.Stat("/save/one"); err != nil {
				save(t, left, "/data")
			}
			upheaval(t, left, "/data", uint64(n))
			rollBack(t, left)
			sameTree(t, tree(t, left, "/data"), want)
			if t.Failed() {
				t.Fatalf("cut at operation %d", n)
			}
		}
	}
	t.Logf("cut at %d places", cuts)
}

func removeIf(fsys vfs.FS, path string) error {
	if _, err := fsys.Stat(path); err != nil {
		return nil
	}
	return fsys.Remove(path)
}

// used is a directory with a savepoint, after a broker has worked on it: it has made and dropped snapshots and segments of the metadata,
// rolled, retained, compacted and deleted.
func used(t *testing.T, seed uint64) (mem *vfs.Mem, want map[string]string) {
	mem = vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	want = tree(t, mem, "/data")
	save(t, mem, "/data")
	testarchive.SyncAll(t, mem, "/")
	w := &workload{t: t, seed: seed, fs: mem, dirs: []string{"/data"}}
	w.run(1)
	adopttest.Churn(t, mem, "/data")
	testarchive.SyncAll(t, mem, "/")
	return mem.Crash(), want
}

// Rollback cut at every operation: another one completes it. At some places a broker is started in between, and it starts.
func TestRollbackCutAnywhere(t *testing.T) {
	for seed := range longtest.Pick(uint64(1), uint64(3)) {
		origin, want := used(t, seed)
		before := tree(t, origin, "/data")
		cuts, started := 0, 0
		for n := int64(1 + seed); ; n += longtest.Pick(int64(89), int64(3)) {
			mem := origin.Crash()
			if _, err := Rollback(context.Background(), cutAt(mem, n), "/save/one", nil); err == nil {
				sameTree(t, tree(t, mem, "/data"), want)
				got := tree(t, mem.Crash(), "/data") // all of it is durable
				sameTree(t, got, want)
				break
			}
			cuts++
			for i, left := range lefts(mem, uint64(n)) {
				trustedOnlyWhole(t, left, before, want)
				readable(t, left)
				if (cuts+i)%longtest.Pick(8, 6) == 0 {
					started++
					runBroker(t, left)
				}
				rollBack(t, left)
				sameTree(t, tree(t, left, "/data"), want)
				if t.Failed() {
					t.Fatalf("seed %d: cut at operation %d", seed, n)
				}
			}
		}
		t.Logf("seed %d: cut at %d places; a broker started at %d of them", seed, cuts, started)
	}
}

// trustedOnlyWhole is SAV-4: where a broker finds the marker or recovery points, all files are those of before, or all those of the savepoint.
func trustedOnlyWhole(t *testing.T, fsys vfs.FS, before, want map[string]string) {
	t.Helper()
	now := tree(t, fsys, "/data")
	_, marked := now["/data/.kafka_cleanshutdown"]
	_, pointed := now["/data/recovery-point-offset-checkpoint"]
	if !marked && !pointed {
		return
	}
	differ := func(from map[string]string) bool {
		for _, m := range []map[string]string{from, now} {
			for path := range m {
				loose := path == "/data/.lock" || strings.HasPrefix(path, "/data/.kafka_cleanshutdown") || strings.HasPrefix(path, "/data/recovery-point-offset-checkpoint")
				if !loose && from[path] != now[path] {
					return true
				}
			}
		}
		return false
	}
	if differ(before) && differ(want) {
		t.Error("a broker would trust a directory that is neither what was nor what was saved")
	}
}

// readable is SAV-6: the metadata log can be read.
func readable(t *testing.T, fsys vfs.FS) {
	t.Helper()
	found, err := metadata.Look(fsys, "/data", "")
	if err != nil || found.New || found.Image.Topics.Len() == 0 {
		t.Errorf("the metadata log: %v, %+v", err, found)
	}
}

// runBroker starts a broker on a directory, and stops it.
func runBroker(t *testing.T, fsys vfs.FS) {
	t.Helper()
	b, err := samsa.Start(context.Background(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: fsys, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("a broker does not start on what an interrupted rollback has left: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(t, b.Shutdown(ctx))
}

// An error at any operation, such as a full disk, is told, and the next one completes the rollback.
func TestRollbackFailsAnywhere(t *testing.T) {
	origin, want := used(t, 9)
	for n := int64(1); ; n += longtest.Pick(int64(67), int64(3)) {
		mem := origin.Crash()
		failing := vfs.NewFault(mem, vfs.FailNth(n, func(vfs.Op) bool { return true }, errPower))
		_, err := Rollback(context.Background(), failing, "/save/one", nil)
		if failing.Count() < n {
			return
		}
		if err == nil {
			sameTree(t, tree(t, mem, "/data"), want) // what failed was not needed
		}
		rollBack(t, mem)
		sameTree(t, tree(t, mem, "/data"), want)
		if t.Failed() {
			t.Fatalf("failed at operation %d", n)
		}
	}
}
