package metadata

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// same compares two images by the records that make them.
func same(a, b *Image) error {
	if a.Offset != b.Offset || a.ClusterID != b.ClusterID {
		return fmt.Errorf("offsets %d and %d, clusters %q and %q", a.Offset, b.Offset, a.ClusterID, b.ClusterID)
	}
	x, y := slices.Collect(a.records()), slices.Collect(b.records())
	for i := range min(len(x), len(y)) {
		if p, q := stored.AppendFrame(nil, x[i], x[i].HighestVersion()), stored.AppendFrame(nil, y[i], y[i].HighestVersion()); !slices.Equal(p, q) {
			return fmt.Errorf("record %d: %s %s, and %s %s", i, x[i].RecordName(), x[i].AppendJSON(nil, x[i].HighestVersion()), y[i].RecordName(), y[i].AppendJSON(nil, y[i].HighestVersion()))
		}
	}
	if len(x) != len(y) {
		return fmt.Errorf("%d and %d records", len(x), len(y))
	}
	return nil
}

func TestBootstrap(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	defer s.Close()
	i := s.Image()
	want := map[string]int16{
		"metadata.version": 33, "eligible.leader.replicas.version": 1, "group.version": 1,
		"share.version": 2, "streams.version": 1, "transaction.version": 2,
	}
	if !reflect.DeepEqual(i.Features, want) {
		t.Errorf("features %v", i.Features)
	}
	if got := i.Config(ConfigResource{Type: BrokerResource}); got["min.insync.replicas"] != "1" || len(got) != 1 {
		t.Errorf("cluster configs %v", got)
	}
	// LEADER_CHANGE, KRAFT_VERSION, KRAFT_VOTERS; BEGIN, six features, CONFIG, END.
	if i.Offset != 11 || i.Epoch != 1 || s.Epoch() != 1 || s.KRaftVersion() != 1 {
		t.Errorf("offset %d, epochs %d and %d, kraft.version %d", i.Offset, i.Epoch, s.Epoch(), s.KRaftVersion())
	}
	if e := s.ControllerEndpoint(); e != (Endpoint{Name: "CONTROLLER", Host: "127.0.0.1", Port: 9093}) {
		t.Errorf("controller at %+v", e)
	}
}

func TestReopen(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	mustAppend(t, s, topicRecords("a", 1, 3)...)
	mustAppend(t, s, &stored.ConfigRecord{ResourceType: TopicResource, ResourceName: "a", Name: "retention.ms", Value: new("5")})
	before := s.Image()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(new(stored.NoOpRecord)); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	s = n.open()
	defer s.Close()
	now := *s.Image()
	if now.Offset != before.Offset+1 || now.Epoch != 2 {
		t.Errorf("offset %d, epoch %d after %d", now.Offset, now.Epoch, before.Offset)
	}
	now.Offset = before.Offset // the new LEADER_CHANGE
	if err := same(before, &now); err != nil {
		t.Error(err)
	}
	if top := now.Topics.ByName("a"); top == nil || len(top.Partitions) != 3 || now.Topics.ByID(top.ID) != top {
		t.Errorf("topic a: %+v", top)
	}
}

// META-1: what does not fit is refused as a whole, and the Store goes on as if nothing had been said.
func TestRefusedRecordsLeaveNoTrace(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	defer s.Close()
	mustAppend(t, s, topicRecords("a", 1, 1)...)
	before, end := s.Image(), s.Log().LogEndOffset()
	missing := stored.NewPartitionChangeRecord()
	missing.PartitionID, missing.TopicID = 0, record.UUID{1: 1}
	gap := topicRecords("gap", 3, 3)
	for name, records := range map[string][]stored.Message{
		"same name":                  topicRecords("a", 2, 1),
		"same id":                    topicRecords("b", 1, 1),
		"topic, then unknown topic":  append(topicRecords("b", 2, 1), &missing),
		"remove unknown":             {&stored.RemoveTopicRecord{TopicID: record.UUID{1: 1}}},
		"partition without topic":    topicRecords("b", 2, 1)[1:],
		"gap in the partitions":      {gap[0], gap[1], gap[3]},
		"unknown broker":             {&stored.BrokerRegistrationChangeRecord{BrokerID: 5, Fenced: 1}},
		"end without begin":          {new(stored.EndTransactionRecord)},
		"abort without begin":        {new(stored.AbortTransactionRecord)},
		"begin without end":          append([]stored.Message{new(stored.BeginTransactionRecord)}, topicRecords("b", 2, 1)...),
		"unknown topic in CLEAR_ELR": {&stored.ClearElrRecord{TopicName: "nope"}},
	} {
		if _, err := s.Append(records...); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%s: %v", name, err)
		}
		if s.Image() != before || s.Log().LogEndOffset() != end {
			t.Errorf("%s: something was written", name)
		}
	}
	mustAppend(t, s, topicRecords("b", 2, 1)...)
	if s.Image().Topics.Len() != 2 || before.Topics.Len() != 1 {
		t.Errorf("%d topics now, %d before", s.Image().Topics.Len(), before.Topics.Len())
	}
}

type recorder struct {
	mu     sync.Mutex
	deltas []*Delta
	images []*Image
}

func (r *recorder) Publish(d *Delta, i *Image) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deltas, r.images = append(r.deltas, d), append(r.images, i)
}

func TestPublish(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	defer s.Close()
	r := &recorder{}
	s.Subscribe(r)
	last := func() *Delta { return r.deltas[len(r.deltas)-1] }

	mustAppend(t, s, append(topicRecords("a", 1, 2), &stored.ConfigRecord{ResourceType: TopicResource, ResourceName: "a", Name: "x", Value: new("1")})...)
	if d := last(); len(d.CreatedTopics) != 1 || d.CreatedTopics[0].Name != "a" || len(d.ChangedPartitions) != 0 || !slices.Equal(d.ChangedConfigs, []ConfigResource{{TopicResource, "a"}}) {
		t.Errorf("created: %+v", d)
	}
	change := stored.NewPartitionChangeRecord()
	change.PartitionID, change.TopicID, change.Leader = 1, record.UUID{15: 1, 0: 9}, 1
	more := topicRecords("a", 1, 3)[3]
	mustAppend(t, s, &change, more)
	if d := last(); !slices.Equal(d.ChangedPartitions, []ChangedPartition{{"a", 1}, {"a", 2}}) || len(d.CreatedTopics) != 0 || len(d.ChangedConfigs) != 0 {
		t.Errorf("changed: %+v", d)
	}
	if p := s.Image().Topics.ByName("a").Partitions[1]; p.LeaderEpoch != 1 || p.PartitionEpoch != 1 {
		t.Errorf("partition 1: %+v", p)
	}
	mustAppend(t, s, append([]stored.Message{&stored.RemoveTopicRecord{TopicID: record.UUID{15: 1, 0: 9}}}, topicRecords("a", 2, 1)...)...)
	if d := last(); len(d.CreatedTopics) != 1 || len(d.DeletedTopics) != 1 || d.DeletedTopics[0].ID == d.CreatedTopics[0].ID || !slices.Equal(d.ChangedConfigs, []ConfigResource{{TopicResource, "a"}}) {
		t.Errorf("made anew: %+v", d)
	}
	mustAppend(t, s, &stored.FeatureLevelRecord{Name: "group.version"})
	if d := last(); !d.Features || d.Brokers || s.Image().Features["group.version"] != 0 {
		t.Errorf("feature: %+v", d)
	}
	mustAppend(t, s, append(topicRecords("gone", 7, 1), &stored.RemoveTopicRecord{TopicID: record.UUID{15: 7, 0: 9}})...)
	if d := last(); len(d.CreatedTopics)+len(d.DeletedTopics)+len(d.ChangedConfigs) != 0 {
		t.Errorf("created and removed at once: %+v", d)
	}
}

// META-4: concurrent appends share fsyncs, each is visible when it returns, publishers see them in order.
func TestConcurrentAppends(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	n.tweak = func(o *Options) { o.Now = nil }
	s := n.open()
	defer s.Close()
	r := &recorder{}
	s.Subscribe(r)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for k := range 20 {
				name := fmt.Sprintf("t-%d-%d", g, k)
				_, err := s.Update(func(i *Image, next record.Offset) ([]stored.Message, error) {
					if next != i.Offset+1 {
						t.Errorf("next %d after %d", next, i.Offset)
					}
					return topicRecords(name, byte(g*20+k), 1), nil
				})
				if err != nil || s.Image().Topics.ByName(name) == nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	if len(r.images) != 160 || s.Image().Topics.Len() != 160 {
		t.Errorf("%d images, %d topics", len(r.images), s.Image().Topics.Len())
	}
	for k := 1; k < len(r.images); k++ {
		if r.images[k].Offset <= r.images[k-1].Offset {
			t.Fatalf("image %d has offset %d after %d", k, r.images[k].Offset, r.images[k-1].Offset)
		}
	}
}

func TestDecideErrorIsReturnedAsItIs(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	defer s.Close()
	boom := errors.New("boom")
	if _, err := s.Update(func(*Image, record.Offset) ([]stored.Message, error) { return nil, boom }); err != boom {
		t.Error(err)
	}
	if o, err := s.Append(); err != nil || o != s.Image().Offset {
		t.Errorf("nothing to write: %d, %v", o, err)
	}
}

// Close meets appends: each is either refused, or counts and is there after the restart.
func TestCloseMeetsAppends(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	var wg sync.WaitGroup
	var mu sync.Mutex
	acked := map[string]bool{}
	started := make(chan struct{}, 8)
	for g := range 8 {
		wg.Go(func() {
			for k := 0; ; k++ {
				name := fmt.Sprintf("t-%d-%d", g, k)
				_, err := s.Append(topicRecords(name, byte(g*30+k), 1)...)
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
				mu.Lock()
				acked[name] = true
				mu.Unlock()
				if k == 3 {
					started <- struct{}{}
				}
				if k == 29 {
					return
				}
			}
		})
	}
	<-started
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	s = n.open()
	defer s.Close()
	for name := range acked {
		if s.Image().Topics.ByName(name) == nil {
			t.Errorf("%s was acknowledged and is lost", name)
		}
	}
	if s.Image().Topics.Len() != len(acked) {
		t.Errorf("%d topics, %d were acknowledged", s.Image().Topics.Len(), len(acked))
	}
}
