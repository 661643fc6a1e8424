package group

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// committed is one committed offset.
type committed struct {
	// recordOffset is where its record stands in the offsets topic: the later record wins (15.1 item 18 of
	// Kafka's pitfalls: a transactional commit may become visible after a later plain one).
	recordOffset record.Offset
	offset       int64
	leaderEpoch  int32 // -1 none
	metadata     string
	commitMs     int64
	expireMs     int64 // -1: by offsets.retention.minutes
	// topicID is zero in records older than version 4.
	topicID record.UUID
}

func committedFrom(at record.Offset, v *stored.OffsetCommitValue) committed {
	return committed{
		recordOffset: at, offset: v.Offset, leaderEpoch: v.LeaderEpoch, metadata: v.Metadata,
		commitMs: v.CommitTimestamp, expireMs: v.ExpireTimestamp, topicID: v.TopicID,
	}
}

// offsetTable holds committed offsets by group, topic and partition. Empty inner maps are not kept.
type offsetTable map[string]map[string]map[int32]committed

func (t offsetTable) get(group, topic string, partition int32) (committed, bool) {
	c, ok := t[group][topic][partition]
	return c, ok
}

// put stores an offset and reports whether there was none before.
func (t offsetTable) put(group, topic string, partition int32, c committed) (added bool) {
	topics := t[group]
	if topics == nil {
		topics = map[string]map[int32]committed{}
		t[group] = topics
	}
	partitions := topics[topic]
	if partitions == nil {
		partitions = map[int32]committed{}
		topics[topic] = partitions
	}
	before := len(partitions)
	partitions[partition] = c
	return len(partitions) > before
}

// remove forgets an offset and reports whether there was one.
func (t offsetTable) remove(group, topic string, partition int32) bool {
	partitions := t[group][topic]
	if _, ok := partitions[partition]; !ok {
		return false
	}
	delete(partitions, partition)
	if len(partitions) == 0 {
		delete(t[group], topic)
		if len(t[group]) == 0 {
			delete(t, group)
		}
	}
	return true
}

// each calls f for every offset of a group, topics and partitions in order.
func (t offsetTable) each(group string, f func(topic string, partition int32, c committed)) {
	topics := t[group]
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		partitions := topics[topic]
		for _, p := range slices.Sorted(maps.Keys(partitions)) {
			f(topic, p, partitions[p])
		}
	}
}

// offsets are the committed offsets of a shard, and those that belong to transactions which are still open.
type offsets struct {
	stable offsetTable
	// pending holds by producer id what a commit of its transaction would make stable.
	pending map[record.ProducerID]offsetTable
	// open lists by group the producers that have pending offsets for it.
	open map[string]map[record.ProducerID]struct{}
}

func newOffsets() offsets {
	return offsets{stable: offsetTable{}, pending: map[record.ProducerID]offsetTable{}, open: map[string]map[record.ProducerID]struct{}{}}
}

// putPending keeps an offset until the transaction of its producer ends.
func (o *offsets) putPending(id record.ProducerID, group, topic string, partition int32, c committed) {
	if o.pending[id] == nil {
		o.pending[id] = offsetTable{}
	}
	o.pending[id].put(group, topic, partition, c)
	if o.open[group] == nil {
		o.open[group] = map[record.ProducerID]struct{}{}
	}
	o.open[group][id] = struct{}{}
}

// remove forgets an offset, pending ones included, and reports whether a stable one was there. The transaction
// counts as open for the group until its end, as in Kafka.
func (o *offsets) remove(group, topic string, partition int32) bool {
	for id := range o.open[group] {
		o.pending[id].remove(group, topic, partition)
	}
	return o.stable.remove(group, topic, partition)
}

// isPending reports whether an open transaction has committed an offset for the partition.
func (o *offsets) isPending(group, topic string, partition int32) bool {
	for id := range o.open[group] {
		if _, ok := o.pending[id].get(group, topic, partition); ok {
			return true
		}
	}
	return false
}

// end ends the transaction of a producer: what it committed becomes stable unless a later record did so
// already. It returns how many offsets were added.
func (o *offsets) end(id record.ProducerID, commit bool) (added int) {
	table := o.pending[id]
	delete(o.pending, id)
	for group, producers := range o.open {
		delete(producers, id)
		if len(producers) == 0 {
			delete(o.open, group)
		}
	}
	if !commit {
		return 0
	}
	for group := range table {
		table.each(group, func(topic string, partition int32, c committed) {
			if old, ok := o.stable.get(group, topic, partition); ok && old.recordOffset > c.recordOffset {
				return
			}
			if o.stable.put(group, topic, partition, c) {
				added++
			}
		})
	}
	return added
}

// all calls f for every partition of a group that has an offset, stable or pending, once each and in order.
func (o *offsets) all(group string, f func(topic string, partition int32)) {
	o.stable.each(group, func(topic string, partition int32, _ committed) { f(topic, partition) })
	seen := map[record.TopicPartition]struct{}{}
	for _, id := range slices.Sorted(maps.Keys(o.open[group])) {
		o.pending[id].each(group, func(topic string, partition int32, _ committed) {
			tp := record.TopicPartition{Topic: topic, Partition: partition}
			if _, ok := o.stable.get(group, topic, partition); ok {
				return
			}
			if _, ok := seen[tp]; !ok {
				seen[tp] = struct{}{}
				f(topic, partition)
			}
		})
	}
}

// groups lists every group that has an offset, stable or pending.
func (o *offsets) groups() map[string]struct{} {
	out := make(map[string]struct{}, len(o.stable)+len(o.open))
	for g := range o.stable {
		out[g] = struct{}{}
	}
	for g := range o.open {
		out[g] = struct{}{}
	}
	return out
}
