package deadletter

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fataler is a test, of rapid or not.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// node hosts a topic "t" of one partition and its queue "q" of two, on a file system in memory.
type node struct {
	t        fataler
	w        *Writer
	store    *metadata.Store
	dirs     *logdir.Manager
	replicas *replica.Manager
	queue    Queue
	topic    Topic
	// missing is how often the queue's partition is not there yet; made counts what was created.
	missing, made int
	stamp         time.Time
}

func newNode(t fataler, maxMessageBytes int) *node {
	t.Helper()
	fsys := vfs.NewMem()
	if err := metadata.Format(fsys, metadata.FormatOptions{Dirs: []string{"/d"}, NodeID: 1}); err != nil {
		t.Fatal(err)
	}
	meta, err := checkpoint.ReadMetaProperties(fsys, "/d/"+checkpoint.MetaPropertiesFile)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, queue: Queue{Topic: "q", Copy: true}, topic: Topic{Partitions: 2, Enabled: true}, stamp: time.Now()}
	if n.dirs, err = logdir.Open(logdir.Options{FS: fsys, Dirs: []string{"/d"}}); err != nil {
		t.Fatal(err)
	}
	if err := n.dirs.Load(context.Background(), func(record.TopicPartition, record.UUID) (storage.Config, bool) { return storage.Config{}, false }); err != nil {
		t.Fatal(err)
	}
	if n.store, err = metadata.Open(metadata.Options{
		FS: fsys, Handles: vfs.NewHandles(fsys, 100), Dir: "/d", NodeID: 1, ClusterID: meta.ClusterID, DirectoryID: meta.DirectoryID,
	}); err != nil {
		t.Fatal(err)
	}
	n.replicas = replica.New(replica.Options{
		NodeID: 1, Dirs: n.dirs, Logger: slog.New(slog.DiscardHandler),
		Config: func(map[string]string) storage.Config {
			c := storage.DefaultConfig()
			c.MaxMessageBytes = maxMessageBytes
			return c
		},
		Assign: func(context.Context, []replica.Placement) error { return nil },
	})
	n.replicas.Start(n.store.Image())
	n.store.Subscribe(n.replicas)
	n.create()
	n.w = NewWriter(Options{
		Queue: func(string) Queue { return n.queue }, Topic: func(name string) (Topic, bool) { return n.topic, name == "q" },
		Create: func(string) error {
			n.made++
			return errors.New("not today")
		},
		Partition: func(topic string, p int32) (*replica.Partition, error) {
			if n.missing > 0 {
				n.missing--
				return nil, replica.ErrNotLeader
			}
			return n.replicas.Partition(topic, p)
		},
		Now: func() time.Time { return n.stamp },
	})
	return n
}

func (n *node) close() {
	n.t.Helper()
	n.replicas.Close()
	if err := errors.Join(n.dirs.Close(), n.store.Close()); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) create() {
	n.t.Helper()
	broker := stored.NewRegisterBrokerRecord()
	broker.BrokerID, broker.Fenced = 1, false
	records := []stored.Message{&broker}
	for name, partitions := range map[string]int32{"t": 1, "q": 2} {
		topic := stored.NewTopicRecord()
		topic.Name, topic.TopicID = name, record.UUID{0: name[0]}
		records = append(records, &topic)
		for p := range partitions {
			r := stored.NewPartitionRecord()
			r.LeaderEpoch, r.PartitionEpoch = 0, 0
			r.PartitionID, r.TopicID, r.Leader, r.Replicas, r.ISR = p, topic.TopicID, 1, []int32{1}, []int32{1}
			records = append(records, &r)
		}
	}
	if _, err := n.store.Append(records...); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) partition(topic string, p int32) *replica.Partition {
	n.t.Helper()
	got, err := n.replicas.Partition(topic, p)
	if err != nil {
		n.t.Fatal(err)
	}
	return got
}

// produce writes a batch of records with these values to the source.
func (n *node) produce(codec record.Codec, values ...string) {
	n.t.Helper()
	o := record.DefaultBuilderOptions()
	o.Codec, o.Level = codec, codec.DefaultLevel()
	b := record.NewBuilder(o)
	for _, v := range values {
		b.Append(time.Now().UnixMilli(), []byte("key of "+v[:1]), []byte(v), []record.RecordHeader{{Key: "h", Value: []byte("x")}})
	}
	if _, err := n.partition("t", 0).Append(b.Build(), storage.AppendOptions{}); err != nil {
		n.t.Fatal(err)
	}
}

// arrived are the records of the queue's partition 0, and in how many batches they lie.
func (n *node) arrived() (records []record.Record, batches int) {
	n.t.Helper()
	got, err := n.partition("q", 0).Fetch(replica.Read{MaxBytes: 1 << 30, Isolation: storage.HighWatermark, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, Replica: -1})
	if err != nil {
		n.t.Fatal(err)
	}
	defer got.Region.Release()
	buf := make([]byte, got.Region.Length)
	if err := got.Region.ReadInto(buf); err != nil {
		n.t.Fatal(err)
	}
	for s := record.NewScanner(buf); s.Next(); batches++ {
		rs := s.Batch().Records(0)
		for rs.Next() {
			r := rs.Record()
			r.Headers = append([]record.RecordHeader(nil), r.Headers...)
			records = append(records, r)
		}
		if rs.Err() != nil {
			n.t.Fatal(rs.Err())
		}
	}
	return records, batches
}

func letter(first, last record.Offset, count int16, why window.Cause) window.Letter {
	return window.Letter{Span: window.Span{First: first, Last: last}, Count: count, Cause: why}
}

func (n *node) deliver(letters ...window.Letter) {
	n.t.Helper()
	if err := n.w.Deliver(context.Background(), "g", n.partition("t", 0), letters); err != nil {
		n.t.Fatal(err)
	}
}
