package adopt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// Names of the topics in which coordinators keep their state.
const (
	offsetsTopic = "__consumer_offsets"
	txnTopic     = "__transaction_state"
	shareTopic   = "__share_group_state"
)

// maxStored bounds a coordinator's record.
const maxStored = 64 << 20

// Group is a group with what it has committed.
type Group struct {
	ID string `json:"id"`
	// Type is classic, consumer, share or streams.
	Type    string `json:"type"`
	Members int    `json:"members"`
	// Epoch is the generation of a classic group, the group epoch of others; -1: only offsets are known.
	Epoch   int32    `json:"epoch"`
	Offsets []Offset `json:"offsets"`

	members map[string]bool
	offsets map[record.TopicPartition]int64
}

// Offset is a committed offset, or the start offset of a share partition.
type Offset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// fold applies the records of coordinators' topics in order. A value of nil removes.
type fold func(key stored.Message, value stored.Message)

// codec decodes the records of one coordinators' topic.
type codec struct{ key, value func(int16) stored.Message }

// groups reads the groups of all types from the coordinators' topics.
func (l *looker) groups(ctx context.Context) error {
	all := map[string]*Group{}
	c := codec{stored.NewGroupKey, stored.NewGroupValue}
	for _, p := range l.internal(offsetsTopic) {
		if err := l.coordinator(ctx, p, c, func(k, v stored.Message) { groupRecord(all, k, v) }); err != nil {
			return err
		}
	}
	topics := map[record.UUID]string{}
	for _, t := range l.r.Topics {
		if id, err := record.ParseUUID(t.ID); err == nil {
			topics[id] = t.Name
		}
	}
	c = codec{stored.NewShareKey, stored.NewShareValue}
	for _, p := range l.internal(shareTopic) {
		if err := l.coordinator(ctx, p, c, func(k, v stored.Message) { shareRecord(all, topics, k, v) }); err != nil {
			return err
		}
	}
	for _, g := range all {
		if g.Type == "" && len(g.offsets) == 0 {
			continue
		}
		if g.Type == "" {
			g.Type = "classic"
		}
		g.Members = len(g.members)
		for tp, o := range g.offsets {
			g.Offsets = append(g.Offsets, Offset{tp.Topic, tp.Partition, o})
		}
		slices.SortFunc(g.Offsets, func(a, b Offset) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
		l.r.Groups = append(l.r.Groups, g)
	}
	slices.SortFunc(l.r.Groups, func(a, b *Group) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// internal returns the partitions of a coordinators' topic that are on disk.
func (l *looker) internal(topic string) (out []*Partition) {
	for _, t := range l.r.Topics {
		if t.Name == topic {
			out = slices.DeleteFunc(slices.Clone(t.Partitions), func(p *Partition) bool { return p.Missing })
		}
	}
	return out
}

// coordinator folds one partition: records of open or aborted transactions do not count. What cannot be decoded is passed over, as
// Kafka's coordinators do, and counted.
func (l *looker) coordinator(ctx context.Context, p *Partition, c codec, apply fold) error {
	pending := map[record.ProducerID][]func(){}
	odd := 0
	batch := func(b record.Batch, h *record.Header) {
		if h.IsControl() {
			if m, err := segment.Marker(b); err == nil && m != nil && m.Type == record.ControlCommit {
				for _, f := range pending[h.ProducerID] {
					f()
				}
			}
			delete(pending, h.ProducerID)
			return
		}
		rs := b.Records(maxStored)
		defer rs.Close()
		for rs.Next() {
			k, v, err := c.decode(rs.Record())
			switch {
			case err != nil:
				odd++
			case h.IsTransactional():
				pending[h.ProducerID] = append(pending[h.ProducerID], func() { apply(k, v) })
			default:
				apply(k, v)
			}
		}
		if rs.Err() != nil {
			odd++
		}
	}
	for _, s := range p.list.Segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.eachBatch(p.list.Path(s.Base, segment.LogSuffix), batch); err != nil {
			l.unread(err)
		}
	}
	if odd > 0 {
		l.unread(fmt.Errorf("%s: %d records of a coordinator that are not understood, which every broker passes over", p.Dir, odd))
	}
	return nil
}

func (c codec) decode(r record.Record) (k, v stored.Message, err error) {
	if k, err = stored.DecodeKey(r.Key, c.key); err != nil || r.Value == nil {
		return k, nil, err
	}
	v, _, err = stored.DecodeValue(r.Value, k.APIKey(), c.value)
	return k, v, err
}

// eachBatch visits the batches of a segment that are whole.
func (l *looker) eachBatch(path string, visit func(b record.Batch, h *record.Header)) error {
	f, err := logfile.Open(l.FS, path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	for r.Next() && r.Valid() {
		visit(r.Batch(), r.Header())
	}
	return nil // what is no batch is told where the partition is described
}

func groupOf(all map[string]*Group, id string) *Group {
	g := all[id]
	if g == nil {
		g = &Group{ID: id, Epoch: -1, members: map[string]bool{}, offsets: map[record.TopicPartition]int64{}}
		all[id] = g
	}
	return g
}

// groupRecord applies a record of __consumer_offsets.
func groupRecord(all map[string]*Group, key, value stored.Message) {
	switch k := key.(type) {
	case *stored.LegacyOffsetCommitKey:
		v, _ := value.(*stored.LegacyOffsetCommitValue)
		g, tp := groupOf(all, k.Group), record.TopicPartition{Topic: k.Topic, Partition: k.Partition}
		if delete(g.offsets, tp); v != nil {
			g.offsets[tp] = v.Offset
		}
	case *stored.OffsetCommitKey:
		v, _ := value.(*stored.OffsetCommitValue)
		g, tp := groupOf(all, k.Group), record.TopicPartition{Topic: k.Topic, Partition: k.Partition}
		if delete(g.offsets, tp); v != nil {
			g.offsets[tp] = v.Offset
		}
	case *stored.GroupMetadataKey:
		v, _ := value.(*stored.GroupMetadataValue)
		g := groupOf(all, k.Group)
		if g.is("classic", v != nil); v != nil {
			g.Epoch, g.members = v.Generation, map[string]bool{}
			for i, m := range v.Members {
				g.members[m.MemberID+"/"+strconv.Itoa(i)] = true
			}
		}
	case *stored.ConsumerGroupMetadataKey:
		v, _ := value.(*stored.ConsumerGroupMetadataValue)
		if g := groupOf(all, k.GroupID); v != nil {
			g.is("consumer", true)
			g.Epoch = v.Epoch
		} else {
			g.is("consumer", false)
		}
	case *stored.ShareGroupMetadataKey:
		v, _ := value.(*stored.ShareGroupMetadataValue)
		if g := groupOf(all, k.GroupID); v != nil {
			g.is("share", true)
			g.Epoch = v.Epoch
		} else {
			g.is("share", false)
		}
	case *stored.StreamsGroupMetadataKey:
		v, _ := value.(*stored.StreamsGroupMetadataValue)
		if g := groupOf(all, k.GroupID); v != nil {
			g.is("streams", true)
			g.Epoch = v.Epoch
		} else {
			g.is("streams", false)
		}
	case *stored.ConsumerGroupMemberMetadataKey:
		groupOf(all, k.GroupID).member(k.MemberID, value != nil)
	case *stored.ShareGroupMemberMetadataKey:
		groupOf(all, k.GroupID).member(k.MemberID, value != nil)
	case *stored.StreamsGroupMemberMetadataKey:
		groupOf(all, k.GroupID).member(k.MemberID, value != nil)
	}
}

// is notes that a group of a type was written or removed. A group may change its type; only the removal of the present one counts.
func (g *Group) is(kind string, there bool) {
	switch {
	case there && g.Type != kind:
		g.Type = kind
	case !there && g.Type == kind:
		g.Type, g.Epoch, g.members = "", -1, map[string]bool{}
	}
}

func (g *Group) member(id string, there bool) {
	if delete(g.members, id); there {
		g.members[id] = true
	}
}

// shareRecord applies a record of __share_group_state: a share partition's start offset stands for a committed one.
func shareRecord(all map[string]*Group, topics map[record.UUID]string, key, value stored.Message) {
	note := func(group string, id record.UUID, partition int32, start int64, there bool) {
		topic := topics[id]
		if topic == "" {
			return // deleted since
		}
		g, tp := groupOf(all, group), record.TopicPartition{Topic: topic, Partition: partition}
		switch {
		case !there:
			delete(g.offsets, tp)
		case start >= 0:
			g.offsets[tp] = start
		}
	}
	switch k := key.(type) {
	case *stored.ShareSnapshotKey:
		v, ok := value.(*stored.ShareSnapshotValue)
		if !ok {
			v = &stored.ShareSnapshotValue{}
		}
		note(k.GroupID, k.TopicID, k.Partition, v.StartOffset, ok)
	case *stored.ShareUpdateKey:
		if v, ok := value.(*stored.ShareUpdateValue); ok {
			note(k.GroupID, k.TopicID, k.Partition, v.StartOffset, true)
		}
	}
}

// Transaction is a transactional id.
type Transaction struct {
	ID            string `json:"id"`
	ProducerID    int64  `json:"producerId"`
	ProducerEpoch int16  `json:"producerEpoch"`
	// State is Empty, Ongoing, PrepareCommit and so on, as Kafka names it.
	State      string   `json:"state"`
	Partitions []string `json:"partitions"`
	// StartMs is when the transaction began; -1: none did.
	StartMs int64 `json:"startMs"`
}

func (t Transaction) open() bool {
	return t.State == "Ongoing" || t.State == "PrepareCommit" || t.State == "PrepareAbort"
}

func stateName(status int8) string {
	names := []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}
	if status < 0 || int(status) >= len(names) {
		return strconv.Itoa(int(status))
	}
	return names[status]
}

// transactions reads the transactional ids.
func (l *looker) transactions(ctx context.Context) error {
	all := map[string]*stored.TransactionLogValue{}
	for _, p := range l.internal(txnTopic) {
		err := l.coordinator(ctx, p, codec{stored.NewTxnKey, stored.NewTxnValue}, func(k, v stored.Message) {
			key, ok := k.(*stored.TransactionLogKey)
			if !ok {
				return
			}
			if t, ok := v.(*stored.TransactionLogValue); ok {
				all[key.TransactionalID] = t
			} else {
				delete(all, key.TransactionalID)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		v := all[id]
		t := Transaction{ID: id, ProducerID: v.ProducerID, ProducerEpoch: v.ProducerEpoch, State: stateName(v.TransactionStatus), StartMs: v.TransactionStartTimestampMs}
		for _, p := range v.TransactionPartitions {
			for _, n := range p.PartitionIDs {
				t.Partitions = append(t.Partitions, record.TopicPartition{Topic: p.Topic, Partition: n}.String())
			}
		}
		l.r.Transactions = append(l.r.Transactions, t)
	}
	return nil
}
