package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

func TestCreate(t *testing.T) {
	r := format(t, vfs.NewMem(), 3)
	cordoned := "/data1"
	r.change = func(o *Options) { o.Cordoned = func(dir string) bool { return dir == cordoned || cordoned == "*" } }
	m := r.open()
	defer mustClose(t, m)
	var where []string
	for p := range int32(4) {
		l := r.create(m, tp("a", p), record.UUID{})
		where = append(where, l.Dir())
	}
	if want := []string{"/data0/a-0", "/data2/a-1", "/data0/a-2", "/data2/a-3"}; !slices.Equal(where, want) {
		t.Errorf("placed in %v, want %v", where, want)
	}
	cordoned = "*"
	if l := r.create(m, tp("b", 0), record.UUID{}); l.Dir() != "/data0/b-0" {
		t.Errorf("all cordoned: %s", l.Dir())
	}
	if l := r.create(m, tp("b", 1), dirIDs[1]); l.Dir() != "/data1/b-1" {
		t.Errorf("assigned: %s", l.Dir())
	}
	if l := r.create(m, tp("b", 2), record.UnassignedDirID); l.Dir() != "/data0/b-2" {
		t.Errorf("unassigned: %s", l.Dir())
	}
	again := r.create(m, tp("b", 1), dirIDs[2])
	if again != m.Log(tp("b", 1)) || again.Dir() != "/data1/b-1" {
		t.Errorf("the same again: %s", again.Dir())
	}
	if _, _, err := m.Create(tp("b", 1), idB, storage.DefaultConfig(), record.UUID{}); !errors.Is(err, ErrExists) {
		t.Errorf("another incarnation: %v", err)
	}
	if got, want := get(t, r.fs, "/data1/b-1/partition.metadata"), "version: 0\ntopic_id: "+idA.String(); got != want {
		t.Errorf("partition.metadata %q, want %q", got, want)
	}
}

func TestCreateTakesTheNextDirectory(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 2)
	failing := false
	r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if failing && strings.HasPrefix(op.Path, "/data0/a-") {
			return errTest
		}
		return nil
	})
	failed := make(chan record.UUID, 1)
	r.change = func(o *Options) { o.OnDirFailure = func(id record.UUID, _ string, _ error) { failed <- id } }
	m := r.open()
	defer mustClose(t, m)
	failing = true
	l, id, err := m.Create(tp("a", 0), idA, storage.DefaultConfig(), record.UUID{})
	if err != nil || id != dirIDs[1] || l.Dir() != "/data1/a-0" {
		t.Fatalf("%v %v", id, err)
	}
	if got := <-failed; got != dirIDs[0] {
		t.Errorf("told of %v", got)
	}
	if _, _, err := m.Create(tp("a", 1), idA, storage.DefaultConfig(), dirIDs[0]); !errors.Is(err, ErrOffline) {
		t.Errorf("assigned to the failed directory: %v", err)
	}
}

func TestCreateAndDeleteAfterClose(t *testing.T) {
	r := format(t, vfs.NewMem(), 1)
	m, err := Open(r.options())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Create(tp("a", 0), idA, storage.DefaultConfig(), record.UUID{}); err == nil {
		t.Error("created before the directory was loaded")
	}
	if err := m.Delete(tp("a", 0)); !errors.Is(err, ErrNotFound) {
		t.Errorf("delete what is not there: %v", err)
	}
	mustClose(t, m)
	mustClose(t, m)
	if _, _, err := m.Create(tp("a", 0), idA, storage.DefaultConfig(), record.UUID{}); !errors.Is(err, ErrClosed) {
		t.Errorf("create: %v", err)
	}
	if err := m.Delete(tp("a", 0)); !errors.Is(err, ErrClosed) {
		t.Errorf("delete: %v", err)
	}
	m.Start()
	if m.Tasks() != nil {
		t.Error("tasks were started after Close")
	}
}

// TestDelete: the name is free at once, whoever reads goes on, the files go after the delay, and a recreated topic
// knows nothing of its predecessor, neither now nor after a crash (DIR-3).
func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 1)
		m := r.open()
		old := r.create(m, tp("a", 0), record.UUID{})
		produce(t, old, 50, 1)
		if err := errors.Join(old.DeleteRecords(40), old.Flush(50), m.saveAll(m.dirs[0])); err != nil {
			t.Fatal(err)
		}
		info, err := old.Read(45, storage.HighWatermark, 1<<20, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Delete(tp("a", 0)); err != nil {
			t.Fatal(err)
		}
		if m.Log(tp("a", 0)) != nil || len(m.Logs()) != 0 || !hasSuffix(list(t, mem.Crash(), "/data0"), "-delete") {
			t.Error("the log is still there")
		}
		l, _, err := m.Create(tp("a", 0), idB, storage.DefaultConfig(), record.UUID{})
		if err != nil {
			t.Fatal(err)
		}
		produce(t, l, 3, 1)
		if err := l.Flush(3); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, info.Region.Length)
		if err := info.Region.ReadInto(buf); err != nil {
			t.Errorf("reading from the deleted log: %v", err)
		}
		info.Region.Release()

		crashed := format(t, vfs.NewMem(), 0)
		crashed.fs, crashed.dirs = mem.Crash(), r.dirs
		after := crashed.open()
		if l := after.Log(tp("a", 0)); l == nil || l.LogStartOffset() != 0 || l.LogEndOffset() != 3 || l.TopicID() != idB {
			t.Errorf("after a crash: %+v", l.Offsets())
		}
		mustClose(t, after)

		time.Sleep(time.Minute)
		synctest.Wait()
		if got := list(t, mem, "/data0"); hasSuffix(got, "-delete") || !slices.Contains(got, "a-0") {
			t.Errorf("after the delay: %v", got)
		}
		if got := len(r.events.of(TaskFailed)); got != 0 {
			t.Errorf("events %v", r.events.list)
		}
		mustClose(t, m)
	})
}

// TestStopBeforeRemoval: a deleted log whose delay has not run out is closed, and removed by the next start.
func TestStopBeforeRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := format(t, vfs.NewMem(), 1)
		m := r.open()
		produce(t, r.create(m, tp("a", 0), record.UUID{}), 5, 1)
		if err := m.Delete(tp("a", 0)); err != nil {
			t.Fatal(err)
		}
		mustClose(t, m)
		if n := m.Handles().OpenCount(); n != 0 {
			t.Errorf("%d files are left open", n)
		}
		time.Sleep(day)
		synctest.Wait()
		if !hasSuffix(list(t, r.fs, "/data0"), "-delete") {
			t.Error("a delayed function ran after Close (DIR-7)")
		}
		m = r.open()
		time.Sleep(day)
		synctest.Wait()
		if hasSuffix(list(t, r.fs, "/data0"), "-delete") {
			t.Error("the next start did not remove it")
		}
		mustClose(t, m)
	})
}

// TestR17FlushRacesWithDelete: logs are flushed after every append while they are deleted. The directory stays online.
func TestR17FlushRacesWithDelete(t *testing.T) {
	r := format(t, vfs.NewOS(), 0)
	r.dirs = []string{t.TempDir()}
	if err := Format(r.fs, r.dirs[0], metaOf(dirIDs[0])); err != nil {
		t.Fatal(err)
	}
	m := r.open()
	defer mustClose(t, m)
	c := storage.DefaultConfig()
	c.FlushMessages, c.FileDeleteDelayMs, c.SegmentBytes = 1, 0, 600
	for round := range 15 {
		p := tp("a", int32(round%2))
		l, _, err := m.Create(p, idA, c, record.UUID{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			for {
				b := record.NewBuilder(record.DefaultBuilderOptions())
				b.Append(1, nil, make([]byte, 100), nil)
				if _, err := l.Append(b.Build(), storage.AppendOptions{}); err != nil {
					done <- err
					return
				}
				if err := l.Flush(l.LogEndOffset()); err != nil {
					done <- err
					return
				}
			}
		}()
		for l.LogEndOffset() < 3 { // some appends and rolls are under way
			if len(done) > 0 {
				break
			}
		}
		if err := m.Delete(p); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, storage.ErrClosed) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("round %d: append to the deleted log: %v", round, err)
		}
	}
	if err := m.Dirs()[0].Err; err != nil {
		t.Errorf("the directory is offline: %v", err)
	}
	if n := len(r.events.of(DirFailed)) + len(r.events.of(TaskFailed)); n != 0 {
		t.Errorf("events %v", r.events.list)
	}
}

func TestManyPartitions(t *testing.T) {
	r := format(t, vfs.NewMem(), 2)
	r.change = func(o *Options) { o.MaxOpenFiles, o.RecoveryThreads = 8, 3 }
	m := r.open()
	const n = 60
	for p := range int32(n) {
		produce(t, r.create(m, tp(fmt.Sprintf("topic-%d", p%7), p), record.UUID{}), int(p), int64(p))
	}
	mustClose(t, m)
	m = r.open()
	defer mustClose(t, m)
	for p := range int32(n) {
		if l := m.Log(tp(fmt.Sprintf("topic-%d", p%7), p)); l == nil || l.LogEndOffset() != record.Offset(p) || l.HighWatermark() != record.Offset(p) {
			t.Errorf("partition %d is not whole", p)
		}
	}
	if open := m.Handles().OpenCount(); open > 8 {
		t.Errorf("%d files are open, at most 8 should be", open)
	}
	if infos := m.Dirs(); len(infos[0].Logs) != n/2 || len(infos[1].Logs) != n/2 {
		t.Errorf("%d and %d logs", len(infos[0].Logs), len(infos[1].Logs))
	}
}
