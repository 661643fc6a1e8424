package logdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errTest = errors.New("test error")
	idA     = record.UUID{0: 1, 15: 200}
	idB     = record.UUID{0: 2, 15: 200}
	dirIDs  = []record.UUID{{0: 0xd, 15: 1}, {0: 0xd, 15: 2}, {0: 0xd, 15: 3}}
)

func tp(topic string, p int32) record.TopicPartition {
	return record.TopicPartition{Topic: topic, Partition: p}
}

// events collects what a Manager reports.
type events struct {
	mu   sync.Mutex
	list []Event
}

func (e *events) add(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, ev)
}

// of returns the events of one kind.
func (e *events) of(kind EventKind) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.list), func(ev Event) bool { return ev.Kind != kind })
}

// rig is a file system with formatted directories.
type rig struct {
	t      testing.TB
	fs     vfs.FS
	dirs   []string
	events *events
	// change may alter the options of every Open.
	change func(*Options)
}

// format makes n formatted directories, durable as everything below the root is.
func format(t testing.TB, fsys vfs.FS, n int) *rig {
	t.Helper()
	r := &rig{t: t, fs: fsys, events: &events{}, change: func(*Options) {}}
	for i := range n {
		dir := fmt.Sprintf("/data%d", i)
		meta := checkpoint.MetaProperties{ClusterID: "cluster", NodeID: 1, DirectoryID: dirIDs[i], Version: 1}
		if err := Format(fsys, dir, meta); err != nil {
			t.Fatal(err)
		}
		r.dirs = append(r.dirs, dir)
	}
	return r
}

func (r *rig) options() Options {
	o := Options{FS: r.fs, Dirs: r.dirs, Observe: r.events.add}
	r.change(&o)
	return o
}

// open opens and loads with every partition wanted.
func (r *rig) open() *Manager {
	r.t.Helper()
	m, err := Open(r.options())
	if err != nil {
		r.t.Fatal(err)
	}
	if err := m.Load(r.t.Context(), wantAll); err != nil {
		r.t.Fatal(err)
	}
	return m
}

func wantAll(record.TopicPartition, record.UUID) (storage.Config, bool) {
	return storage.DefaultConfig(), true
}

func (r *rig) create(m *Manager, tp record.TopicPartition, dirID record.UUID) *storage.Log {
	r.t.Helper()
	l, _, err := m.Create(tp, idA, storage.DefaultConfig(), dirID)
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// produce appends n records of about 100 bytes, one batch each, with the given timestamp, and commits them.
func produce(t testing.TB, l *storage.Log, n int, timestampMs int64) {
	t.Helper()
	for range n {
		b := record.NewBuilder(record.DefaultBuilderOptions())
		b.Append(timestampMs, nil, []byte(strings.Repeat("x", 100)), nil)
		if _, err := l.Append(b.Build(), storage.AppendOptions{LeaderEpoch: 0}); err != nil {
			t.Fatal(err)
		}
	}
	l.SetHighWatermark(l.LogEndOffset())
}

func mustClose(t testing.TB, m *Manager) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, fsys vfs.FS, path, content string) {
	t.Helper()
	if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close(), fsys.SyncDir(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
}

// get returns a file's content, "missing" if there is none.
func get(t testing.TB, fsys vfs.FS, path string) string {
	t.Helper()
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, size)
	if _, err := f.ReadAt(buf, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return string(buf)
}

// list returns the names in a directory.
func list(t testing.TB, fsys vfs.FS, dir string) []string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func hasSuffix(names []string, suffix string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, suffix) })
}

// day is far above every delay and period that the tests use.
const day = 24 * time.Hour
