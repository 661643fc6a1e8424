package logdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// news are n partitions of a topic that are to be created.
func news(topic string, n int32) []New {
	var list []New
	for p := range n {
		list = append(list, New{TopicPartition: tp(topic, p), TopicID: idA, Config: storage.DefaultConfig()})
	}
	return list
}

// tally counts operations by kind.
type tally struct {
	mu    sync.Mutex
	kinds map[vfs.OpKind]int
	// changes are the operations that can change something below a partition's directory.
	changes []string
}

func (c *tally) count(op vfs.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds == nil {
		c.kinds = map[vfs.OpKind]int{}
	}
	c.kinds[op.Kind]++
	changes := op.Kind.Changes() || op.Flag&(os.O_CREATE|os.O_TRUNC) != 0
	if partition := strings.Contains(op.Path, "/a-"); changes && partition {
		c.changes = append(c.changes, op.String())
	}
	return nil
}

func (c *tally) take() (map[vfs.OpKind]int, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.kinds, c.changes = nil, nil }()
	return c.kinds, c.changes
}

// TestR11CreateAllSyncsLittle: a new partition costs an fsync of its id and one of its directory, and all together one
// of the directory above; a power failure right after that loses none of them.
func TestR11CreateAllSyncsLittle(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 1)
	var ops tally
	r.fs = vfs.NewFault(mem, ops.count)
	m := r.open()
	ops.take()
	const n = 50
	for i, c := range m.CreateAll(news("a", n)) {
		if c.Err != nil || c.Log != m.Log(tp("a", int32(i))) || c.DirID != dirIDs[0] {
			t.Fatalf("partition %d: %+v", i, c)
		}
	}
	if kinds, _ := ops.take(); kinds[vfs.OpSync] != n || kinds[vfs.OpSyncDir] != n+1 {
		t.Errorf("%d partitions cost %d fsyncs of files and %d of directories", n, kinds[vfs.OpSync], kinds[vfs.OpSyncDir])
	}
	after := mem.Crash()
	mustClose(t, m)
	r.fs = after
	m = r.open()
	defer mustClose(t, m)
	for p := range int32(n) {
		if l := m.Log(tp("a", p)); l == nil || l.TopicID() != idA {
			t.Errorf("partition %d was lost", p)
		}
	}
}

// TestCreateAllSortsOut: partitions that exist, that are named twice or that belong to another topic get what Create gives
// them, and the others are spread evenly.
func TestCreateAllSortsOut(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 3)
	r.change = func(o *Options) { o.Cordoned = func(dir string) bool { return dir == "/data1" } }
	m := r.open()
	defer mustClose(t, m)
	old := r.create(m, tp("a", 2), dirIDs[1])
	list := news("a", 6)
	list = append(list, list[0], New{TopicPartition: tp("a", 2), TopicID: idB, Config: storage.DefaultConfig()})
	list[5].DirID = dirIDs[1]
	got := m.CreateAll(list)
	var where []string
	for _, c := range got[:6] {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		where = append(where, c.Log.Dir())
	}
	if want := []string{"/data0/a-0", "/data2/a-1", "/data1/a-2", "/data0/a-3", "/data2/a-4", "/data1/a-5"}; !slices.Equal(where, want) {
		t.Errorf("placed in %v, want %v", where, want)
	}
	if got[2].Log != old || got[6].Log != got[0].Log || got[6].Err != nil {
		t.Errorf("what exists: %+v, named twice: %+v", got[2], got[6])
	}
	if !errors.Is(got[7].Err, ErrExists) || got[7].Log != nil {
		t.Errorf("another topic's: %+v", got[7])
	}
}

// TestCreateAllTakesTheNextDirectory: where one directory fails the others take its partitions.
func TestCreateAllTakesTheNextDirectory(t *testing.T) {
	for _, path := range []string{"/data0/a-", "/data0"} {
		mem := vfs.NewMem()
		r := format(t, mem, 2)
		var failing atomic.Bool
		r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if failing.Load() && op.Kind == vfs.OpSyncDir && (op.Path == path || path == "/data0/a-" && strings.HasPrefix(op.Path, path)) {
				return errTest
			}
			return nil
		})
		m := r.open()
		failing.Store(true)
		offline := 0
		for i, c := range m.CreateAll(news("a", 8)) {
			switch {
			case c.Err == nil && c.Log.Dir() == fmt.Sprintf("/data1/a-%d", i):
			case errors.Is(c.Err, ErrOffline) && path == "/data0": // it may stand there when the directory is back (DIR-4)
				offline++
			default:
				t.Errorf("%s fails: partition %d: %+v", path, i, c)
			}
		}
		if path == "/data0" && offline != 4 {
			t.Errorf("%d partitions are offline", offline)
		}
		failing.Store(false)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCreateAllInterrupted: whatever a power failure leaves of partitions that are being created, the next start takes it
// over or sets it aside, and they can be created and written.
func TestCreateAllInterrupted(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 1)
	var mu sync.Mutex
	var images []*vfs.Mem
	armed := false
	r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if armed && (op.Kind.Changes() || op.Kind == vfs.OpOpen) {
			images = append(images, mem.Crash(), mem.CrashKeeping(uint64(op.N)))
		}
		return nil
	})
	m := r.open()
	armed = true
	m.CreateAll(news("a", 3))
	mu.Lock()
	armed = false
	mu.Unlock()
	mustClose(t, m)
	if len(images) < 30 {
		t.Fatalf("only %d images", len(images))
	}
	for i, image := range images {
		r.fs, r.events = image, &events{}
		r.change = func(o *Options) {}
		m, err := Open(r.options())
		if err != nil {
			t.Fatal(err)
		}
		err = m.Load(t.Context(), func(_ record.TopicPartition, id record.UUID) (storage.Config, bool) {
			return storage.DefaultConfig(), id == idA
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range m.CreateAll(news("a", 3)) {
			if c.Err != nil || c.Log.TopicID() != idA {
				t.Fatalf("image %d: %+v", i, c)
			}
			produce(t, c.Log, 2, 1)
		}
		if n := len(r.events.of(PartitionFailed)); n > 0 {
			t.Errorf("image %d: %v", i, r.events.list)
		}
		mustClose(t, m)
	}
	t.Logf("%d power failures", len(images))
}

// TestManyIdlePartitions counts what a start and a stop cost for each partition without records: a few calls and no write;
// and afterwards neither a descriptor nor a goroutine. After a power failure it is the same.
func TestManyIdlePartitions(t *testing.T) {
	for _, stop := range []string{"in order", "power failure"} {
		t.Run(stop, func(t *testing.T) {
			mem := vfs.NewMem()
			r := format(t, mem, 1)
			const n = 400
			m := r.open()
			m.CreateAll(news("a", n))
			before := mem.Crash()
			mustClose(t, m)
			if stop == "power failure" {
				mem = before
			}
			var ops tally
			r.fs = vfs.NewFault(mem, ops.count)
			goroutines := runtime.NumGoroutine()
			m = r.open()
			for e := range record.LeaderEpoch(2) {
				for _, l := range m.Logs() {
					if err := l.AssignLeaderEpoch(e); err != nil {
						t.Fatal(err)
					}
				}
			}
			checkIdle(t, &ops, n, 2*n)
			if open := m.Handles().OpenCount(); open > 0 {
				t.Errorf("%d descriptors are held", open)
			}
			if now := runtime.NumGoroutine(); now > goroutines+2 {
				t.Errorf("%d goroutines, there were %d", now, goroutines)
			}
			if stop != "in order" { // ending it has to sync what the failed system may not have
				mustClose(t, m)
				return
			}
			mustClose(t, m)
			checkIdle(t, &ops, n, 0)
			if got := get(t, r.fs, filepath.Join(r.dirs[0], ".kafka_cleanshutdown")); got == "missing" {
				t.Error("no marker")
			}
		})
	}
}

// checkIdle checks what was done for n idle partitions since the last time.
func checkIdle(t *testing.T, ops *tally, n, mostOpens int) {
	t.Helper()
	const shared = 60 // for the directory as a whole
	kinds, changes := ops.take()
	if len(changes) > 0 {
		t.Errorf("%d changes, as %s", len(changes), changes[0])
	}
	if opens := kinds[vfs.OpOpen]; opens > mostOpens+shared {
		t.Errorf("%d files were opened for %d partitions", opens, n)
	}
	all := 0
	for _, c := range kinds {
		all += c
	}
	if all > 10*n+shared {
		t.Errorf("%d operations for %d partitions: %v", all, n, kinds)
	}
}

// TestManyPartitionsWithData counts what a start costs for each partition that has records in several segments: of the indexes
// of sealed segments nothing is read before somebody looks for an offset, and however many files there are, few are open.
func TestManyPartitionsWithData(t *testing.T) {
	r := format(t, vfs.NewMem(), 1)
	r.change = func(o *Options) { o.MaxOpenFiles = 64 }
	const n, segments = 300, 4
	m := r.open()
	for i := range int32(n) {
		l, _, err := m.Create(tp("a", i), idA, small(), record.UUID{})
		if err != nil {
			t.Fatal(err)
		}
		produce(t, l, 20, 1)
		if got := len(l.Segments()); got < segments {
			t.Fatalf("%d segments", got)
		}
	}
	mustClose(t, m)
	var mu sync.Mutex
	opens, indexes := 0, 0
	r.fs = vfs.NewFault(r.fs, func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		index := strings.HasSuffix(op.Path, ".index") || strings.HasSuffix(op.Path, ".timeindex")
		switch {
		case op.Kind == vfs.OpOpen:
			opens++
		case op.Kind == vfs.OpRead && index:
			indexes++
		}
		return nil
	})
	m = r.open()
	mu.Lock()
	started, read := opens, indexes
	mu.Unlock()
	if open := m.Handles().OpenCount(); open > 64 {
		t.Errorf("%d descriptors are held", open)
	}
	// The active segment of each partition says where its indexes end; sealed ones are not looked at.
	if started > 8*n || read > 4*n {
		t.Errorf("%d files were opened and %d times an index was read for %d partitions of %d segments", started, read, n, segments)
	}
	for _, l := range m.Logs() {
		if got := len(batchesOf(t, l)); got != 20 {
			t.Fatalf("%d batches", got)
		}
	}
	if open := m.Handles().OpenCount(); open > 64 {
		t.Errorf("%d descriptors are held after all was read", open)
	}
	t.Logf("%d partitions of %d segments: %d files opened, %d reads of indexes", n, segments, started, read)
	mustClose(t, m)
}
