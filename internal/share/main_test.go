package share

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// memoryPersister keeps the state of share partitions record by record, by the rules of the share coordinator that the
// leader depends on.
type memoryPersister struct {
	mu     sync.Mutex
	states map[Key]*memoryState
	// fail is what writes are answered instead; gate, if any, is received from before each write.
	fail   int16
	gate   chan struct{}
	writes int
}

type memoryState struct {
	epoch   int32
	start   record.Offset
	records map[record.Offset]window.StateBatch
}

func (m *memoryPersister) initialize(k Key, epoch int32, start record.Offset) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[k] = &memoryState{epoch: epoch, start: start, records: map[record.Offset]window.StateBatch{}}
}

func (m *memoryPersister) InitializeState(context.Context, *kmsg.InitializeShareGroupStateRequest) *kmsg.InitializeShareGroupStateResponse {
	return nil
}

func (m *memoryPersister) DeleteState(context.Context, *kmsg.DeleteShareGroupStateRequest) *kmsg.DeleteShareGroupStateResponse {
	return nil
}

func (m *memoryPersister) ReadStateSummary(context.Context, *kmsg.ReadShareGroupStateSummaryRequest) *kmsg.ReadShareGroupStateSummaryResponse {
	return nil
}

func (m *memoryPersister) ReadState(_ context.Context, r *kmsg.ReadShareGroupStateRequest) *kmsg.ReadShareGroupStateResponse {
	m.mu.Lock()
	defer m.mu.Unlock()
	resp := kmsg.NewPtrReadShareGroupStateResponse()
	t := kmsg.NewReadShareGroupStateResponseTopic()
	t.TopicID = r.Topics[0].TopicID
	p := kmsg.NewReadShareGroupStateResponseTopicPartition()
	p.Partition = r.Topics[0].Partitions[0].Partition
	s := m.states[Key{r.GroupID, t.TopicID, p.Partition}]
	if s == nil {
		p.ErrorCode = kerr.InvalidRequest.Code
	} else {
		p.StateEpoch, p.StartOffset = s.epoch, int64(s.start)
		for _, o := range slices.Sorted(maps.Keys(s.records)) {
			r := s.records[o]
			if l := len(p.StateBatches) - 1; l >= 0 && p.StateBatches[l].LastOffset+1 == int64(o) && p.StateBatches[l].DeliveryState == int8(r.State) && p.StateBatches[l].DeliveryCount == r.Count {
				p.StateBatches[l].LastOffset++
				continue
			}
			b := kmsg.NewReadShareGroupStateResponseTopicPartitionStateBatch()
			b.FirstOffset, b.LastOffset, b.DeliveryState, b.DeliveryCount = int64(o), int64(o), int8(r.State), r.Count
			p.StateBatches = append(p.StateBatches, b)
		}
	}
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

func (m *memoryPersister) WriteState(ctx context.Context, r *kmsg.WriteShareGroupStateRequest) *kmsg.WriteShareGroupStateResponse {
	if m.gate != nil {
		select {
		case <-m.gate:
		case <-ctx.Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	in := &r.Topics[0].Partitions[0]
	resp := kmsg.NewPtrWriteShareGroupStateResponse()
	t := kmsg.NewWriteShareGroupStateResponseTopic()
	t.TopicID = r.Topics[0].TopicID
	p := kmsg.NewWriteShareGroupStateResponseTopicPartition()
	p.Partition = in.Partition
	s := m.states[Key{r.GroupID, t.TopicID, in.Partition}]
	switch {
	case m.fail != 0:
		p.ErrorCode = m.fail
	case s == nil:
		p.ErrorCode = kerr.InvalidRequest.Code
	case in.StateEpoch != s.epoch:
		p.ErrorCode = kerr.FencedStateEpoch.Code
	default:
		s.write(in)
	}
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

func (s *memoryState) write(in *kmsg.WriteShareGroupStateRequestTopicPartition) {
	if in.StartOffset >= 0 {
		s.start = record.Offset(in.StartOffset)
	}
	for _, b := range in.StateBatches {
		for o := b.FirstOffset; o <= b.LastOffset; o++ {
			s.records[record.Offset(o)] = window.StateBatch{State: window.State(b.DeliveryState), Count: b.DeliveryCount}
		}
	}
	for o := range s.records {
		if o < s.start {
			delete(s.records, o)
		}
	}
}

// node is a manager over one topic of two partitions on a file system in memory.
type node struct {
	t         *testing.T
	m         *Manager
	store     *metadata.Store
	replicas  *replica.Manager
	persister *memoryPersister
	settings  Settings
	letters   DeadLetters
	topic     record.UUID
}

const testGroup = "g"

func newNode(t *testing.T) *node {
	t.Helper()
	fsys := vfs.NewMem()
	if err := metadata.Format(fsys, metadata.FormatOptions{Dirs: []string{"/d"}, NodeID: 1}); err != nil {
		t.Fatal(err)
	}
	meta, err := checkpoint.ReadMetaProperties(fsys, "/d/"+checkpoint.MetaPropertiesFile)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := logdir.Open(logdir.Options{FS: fsys, Dirs: []string{"/d"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Load(context.Background(), func(record.TopicPartition, record.UUID) (storage.Config, bool) { return storage.Config{}, false }); err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, settings: DefaultSettings(), topic: record.UUID{0: 7}, persister: &memoryPersister{states: map[Key]*memoryState{}}}
	n.settings.Reset = "earliest"
	n.store, err = metadata.Open(metadata.Options{
		FS: fsys, Handles: vfs.NewHandles(fsys, 100), Dir: "/d", NodeID: 1, ClusterID: meta.ClusterID, DirectoryID: meta.DirectoryID,
	})
	if err != nil {
		t.Fatal(err)
	}
	n.replicas = replica.New(replica.Options{
		NodeID: 1, Dirs: dirs, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Config: func(map[string]string) storage.Config { return storage.DefaultConfig() },
		Assign: func(context.Context, []replica.Placement) error { return nil },
	})
	n.replicas.Observe(observer{n})
	n.replicas.Start(n.store.Image())
	n.store.Subscribe(n.replicas)
	n.start()
	n.createTopic()
	t.Cleanup(func() {
		n.m.Close()
		n.replicas.Close()
		if err := errors.Join(dirs.Close(), n.store.Close()); err != nil {
			t.Error(err)
		}
	})
	for p := range int32(2) {
		n.persister.initialize(n.key(p), 1, uninitialized)
	}
	return n
}

// observer passes on to the manager of the moment.
type observer struct{ n *node }

func (o observer) Elected(p *replica.Partition)      { o.n.m.Elected(p) }
func (o observer) Resigned(tp record.TopicPartition) { o.n.m.Resigned(tp) }

func (n *node) append(records ...stored.Message) {
	n.t.Helper()
	if _, err := n.store.Append(records...); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) createTopic() {
	n.t.Helper()
	broker, topic := stored.NewRegisterBrokerRecord(), stored.NewTopicRecord()
	broker.BrokerID, broker.Fenced = 1, false
	topic.Name, topic.TopicID = "t", n.topic
	records := []stored.Message{&broker, &topic}
	for p := range int32(2) {
		r := stored.NewPartitionRecord()
		r.LeaderEpoch, r.PartitionEpoch = 0, 0
		r.PartitionID, r.TopicID, r.Leader, r.Replicas, r.ISR = p, n.topic, 1, []int32{1}, []int32{1}
		records = append(records, &r)
	}
	n.append(records...)
}

// newEpoch lets another leader epoch of partition 0 begin.
func (n *node) newEpoch() {
	n.t.Helper()
	r := stored.NewPartitionChangeRecord()
	r.PartitionID, r.TopicID, r.Leader = 0, n.topic, 1
	n.append(&r)
}

// start makes a new manager, as a restart of the node does.
func (n *node) start() {
	if n.m != nil {
		n.m.Close()
	}
	n.m = NewManager(Options{Persister: n.persister, DeadLetters: n.letters, Settings: func(string) Settings { return n.settings }})
}

func (n *node) key(p int32) Key { return Key{testGroup, n.topic, p} }

func (n *node) leader(p int32) *replica.Partition {
	n.t.Helper()
	l, err := n.replicas.ByID(n.topic, p)
	if err != nil {
		n.t.Fatal(err)
	}
	return l
}

// produce appends batches of so many records.
func (n *node) produce(p int32, counts ...int) {
	n.t.Helper()
	for _, c := range counts {
		b := record.NewBuilder(record.DefaultBuilderOptions())
		for range c {
			b.Append(time.Now().UnixMilli(), []byte("k"), []byte("v"), nil)
		}
		if _, err := n.leader(p).Append(b.Build(), storage.AppendOptions{}); err != nil {
			n.t.Fatal(err)
		}
	}
}

// wait is a Wait without a connection.
func wait(done <-chan struct{}, timeout time.Duration) bool {
	clock := time.NewTimer(timeout)
	defer clock.Stop()
	select {
	case <-done:
		return true
	case <-clock.C:
		return false
	}
}

// fetch acquires up to so many records of partition 0 for a member, waiting no longer than given or a moment.
func (n *node) fetch(member string, records int, patience time.Duration, change ...func(*FetchRequest)) FetchResult {
	n.t.Helper()
	r := FetchRequest{
		Group: testGroup, Member: member, Parts: []Part{{n.topic, 0}}, Epoch: 1, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: max(patience, time.Millisecond), MaxRecords: records, BatchSize: records,
		Find: func(p Part) (*replica.Partition, error) { return n.replicas.ByID(p.Topic, p.Partition) }, Wait: wait,
	}
	for _, f := range change {
		f(&r)
	}
	got := n.m.Fetch(n.t.Context(), r)
	for i := range got {
		got[i].Region.Release()
	}
	return got[0]
}

func (n *node) acknowledge(member string, first, last record.Offset, types ...window.Type) error {
	n.t.Helper()
	a := window.Ack{Span: window.Span{First: first, Last: last}}
	for _, t := range types {
		a.Types = append(a.Types, int8(t))
	}
	o := n.m.Acknowledge(n.key(0), member, []window.Ack{a})
	<-o.Done()
	return o.Err()
}

func acquired(first, last record.Offset, count int16) window.AcquiredRecords {
	return window.AcquiredRecords{Span: window.Span{First: first, Last: last}, Count: count}
}

func (n *node) want(got FetchResult, want ...window.AcquiredRecords) {
	n.t.Helper()
	if got.Err != nil || !slices.Equal(got.Acquired, want) {
		n.t.Fatalf("acquired %v, %v; want %v", got.Acquired, got.Err, want)
	}
}

func (n *node) fetchWith(ctx context.Context, r FetchRequest, wait func(<-chan struct{}, time.Duration) bool) []FetchResult {
	r.Find = func(p Part) (*replica.Partition, error) { return n.replicas.ByID(p.Topic, p.Partition) }
	r.Wait = wait
	got := n.m.Fetch(ctx, r)
	for i := range got {
		got[i].Region.Release()
	}
	return got
}
