package metadata

import (
	"io"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testDir = "/data"

// node is a formatted directory on a file system, and how to open a Store on it.
type node struct {
	t     reporter
	fs    vfs.FS
	dir   string
	rand  io.Reader
	nowMs atomic.Int64
	tweak func(*Options)
}

// newNode formats testDir on fsys.
func newNode(t reporter, fsys vfs.FS) *node {
	n := &node{t: t, fs: fsys, dir: testDir, rand: newRand()}
	n.nowMs.Store(1700000000000)
	err := Format(fsys, FormatOptions{
		Dirs: []string{testDir}, NodeID: 1, ClusterID: "test", Controller: Endpoint{Host: "127.0.0.1", Port: 9093}, Rand: n.rand, Now: n.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// clock moves by a millisecond at each look.
func (n *node) clock() time.Time { return time.UnixMilli(n.nowMs.Add(1)) }

// pass lets time pass.
func (n *node) pass(d time.Duration) { n.nowMs.Add(d.Milliseconds()) }

// lockedRand is a source of the same ids in every run, for several goroutines.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newRand() io.Reader { return &lockedRand{r: rand.New(rand.NewSource(1))} }

func (l *lockedRand) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

func (n *node) options() Options {
	meta, err := checkpoint.ReadMetaProperties(n.fs, n.dir+"/"+checkpoint.MetaPropertiesFile)
	if err != nil {
		n.t.Fatal(err)
	}
	o := Options{
		FS: n.fs, Handles: vfs.NewHandles(n.fs, 100), Dir: n.dir, NodeID: 1, ClusterID: meta.ClusterID, DirectoryID: meta.DirectoryID,
		Now: n.clock, Rand: n.rand, Delay: func(time.Duration, func()) {},
		Snapshots: SnapshotPolicy{MaxNewBytes: -1, MaxInterval: -1},
	}
	if n.tweak != nil {
		n.tweak(&o)
	}
	return o
}

func (n *node) open() *Store {
	n.t.Helper()
	s, err := Open(n.options())
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// topicRecords are the records of a new topic with partitions partitions.
func topicRecords(name string, id byte, partitions int) []stored.Message {
	topic := record.UUID{15: id, 0: 9}
	out := []stored.Message{&stored.TopicRecord{Name: name, TopicID: topic}}
	for p := range partitions {
		m := stored.NewPartitionRecord()
		m.PartitionID, m.TopicID, m.Replicas, m.ISR = int32(p), topic, []int32{1}, []int32{1}
		m.Leader, m.LeaderEpoch, m.PartitionEpoch, m.Directories = 1, 0, 0, []record.UUID{{0: 7}}
		out = append(out, &m)
	}
	return out
}

func mustAppend(t reporter, s *Store, records ...stored.Message) record.Offset {
	t.Helper()
	o, err := s.Append(records...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// reporter is what helpers need of testing.TB and of rapid's T.
type reporter interface {
	Helper()
	Fatal(args ...any)
}
