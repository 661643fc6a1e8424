package metadata

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// model is the cluster in plain maps.
type model struct {
	topics  map[string][]int // leader epochs of the partitions
	configs map[ConfigResource]map[string]string
	next    record.ProducerID
	acls    map[byte]bool
	ids     map[string]byte
	lastID  byte
}

func (m *model) clone() *model {
	c := *m
	c.topics, c.configs, c.acls, c.ids = map[string][]int{}, map[ConfigResource]map[string]string{}, maps.Clone(m.acls), maps.Clone(m.ids)
	for k, v := range m.topics {
		c.topics[k] = slices.Clone(v)
	}
	for k, v := range m.configs {
		c.configs[k] = maps.Clone(v)
	}
	return &c
}

// step changes the model and returns the records of the change; none if it drew something impossible.
func (m *model) step(t *rapid.T) []stored.Message {
	name := rapid.SampledFrom([]string{"a", "b.c", "d_e", "f"}).Draw(t, "topic")
	parts, exists := m.topics[name]
	switch rapid.IntRange(0, 7).Draw(t, "step") {
	case 0, 1:
		if exists || m.lastID > 250 {
			return nil
		}
		n := rapid.IntRange(1, 4).Draw(t, "partitions")
		m.lastID++
		m.topics[name], m.ids[name] = make([]int, n), m.lastID
		delete(m.configs, ConfigResource{TopicResource, name})
		return topicRecords(name, m.lastID, n)
	case 2:
		if !exists {
			return nil
		}
		delete(m.topics, name)
		delete(m.configs, ConfigResource{TopicResource, name})
		return []stored.Message{&stored.RemoveTopicRecord{TopicID: record.UUID{15: m.ids[name], 0: 9}}}
	case 3:
		if !exists {
			return nil
		}
		p := rapid.IntRange(0, len(parts)-1).Draw(t, "partition")
		parts[p]++
		c := stored.NewPartitionChangeRecord()
		c.PartitionID, c.TopicID, c.Leader = int32(p), record.UUID{15: m.ids[name], 0: 9}, 1
		return []stored.Message{&c}
	case 4, 5:
		r := ConfigResource{TopicResource, name}
		if !exists {
			r = ConfigResource{GroupResource, name}
		}
		key := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key")
		if rapid.Bool().Draw(t, "unset") {
			delete(m.configs[r], key)
			return []stored.Message{&stored.ConfigRecord{ResourceType: r.Type, ResourceName: r.Name, Name: key}}
		}
		value := rapid.StringMatching("[a-z]{0,3}").Draw(t, "value")
		if m.configs[r] == nil {
			m.configs[r] = map[string]string{}
		}
		m.configs[r][key] = value
		return []stored.Message{&stored.ConfigRecord{ResourceType: r.Type, ResourceName: r.Name, Name: key, Value: &value}}
	case 6:
		m.next += 1000
		return []stored.Message{&stored.ProducerIdsRecord{BrokerID: 1, NextProducerID: int64(m.next)}}
	default:
		id := byte(rapid.IntRange(1, 5).Draw(t, "acl"))
		m.acls[id] = !m.acls[id]
		if m.acls[id] {
			return []stored.Message{&stored.AccessControlEntryRecord{ID: record.UUID{id}}}
		}
		return []stored.Message{&stored.RemoveAccessControlEntryRecord{ID: record.UUID{id}}}
	}
}

func (m *model) compare(i *Image) error {
	if i.Topics.Len() != len(m.topics) {
		return fmt.Errorf("%d topics, want %d", i.Topics.Len(), len(m.topics))
	}
	for name, parts := range m.topics {
		topic := i.Topics.ByName(name)
		if topic == nil || i.Topics.ByID(topic.ID) != topic || len(topic.Partitions) != len(parts) {
			return fmt.Errorf("topic %s: %+v, want %v", name, topic, parts)
		}
		for n, epoch := range parts {
			if got := topic.Partitions[n].LeaderEpoch; int(got) != epoch {
				return fmt.Errorf("%s-%d: leader epoch %d, want %d", name, n, got, epoch)
			}
		}
		want := 0
		if canCollide(name) {
			want = 1
		}
		if got := i.Topics.Colliding(name); len(got) != want {
			return fmt.Errorf("%s collides with %v", name, got)
		}
	}
	for r, want := range m.configs {
		if got := i.Config(r); !maps.Equal(got, want) {
			return fmt.Errorf("configs of %v: %v, want %v", r, got, want)
		}
	}
	acls := 0
	for _, set := range m.acls {
		if set {
			acls++
		}
	}
	if i.NextProducerID != m.next || i.acls.len() != acls {
		return fmt.Errorf("producer ids from %d, want %d; %d ACLs, want %d", i.NextProducerID, m.next, i.acls.len(), acls)
	}
	return nil
}

// Random batches, transactions, refusals, snapshots and restarts against the model; kept images must not change.
func TestStoreModel(t *testing.T) {
	longtest.Check(t, 50, 1000, func(t *rapid.T) {
		n := newNode(t, vfs.NewMem())
		n.tweak = func(o *Options) { o.SegmentBytes, o.Snapshots.RetentionBytes = 1500, 3000 }
		s := n.open()
		defer func() { s.Close() }()
		m := &model{topics: map[string][]int{}, configs: map[ConfigResource]map[string]string{}, acls: map[byte]bool{}, ids: map[string]byte{}}
		type kept struct {
			image *Image
			model *model
		}
		var all []kept
		for range rapid.IntRange(1, 25).Draw(t, "rounds") {
			next := m.clone()
			var records []stored.Message
			for range rapid.IntRange(1, 5).Draw(t, "batch") {
				records = append(records, next.step(t)...)
			}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				bad := append(records, new(stored.EndTransactionRecord))
				if _, err := s.Append(bad...); err == nil {
					t.Fatal("a stray END_TRANSACTION was taken")
				}
			case 1:
				n.snapshot(s)
			case 2:
				s.Close()
				s = n.open()
			case 3:
				records = append(append([]stored.Message{begin()}, records...), new(stored.EndTransactionRecord))
				fallthrough
			default:
				mustAppend(t, s, records...)
				m = next
			}
			if err := m.compare(s.Image()); err != nil {
				t.Fatal(err)
			}
			all = append(all, kept{s.Image(), m.clone()})
		}
		for _, k := range all {
			if err := k.model.compare(k.image); err != nil {
				t.Fatalf("image at offset %d has changed since: %v", k.image.Offset, err)
			}
		}
	})
}
