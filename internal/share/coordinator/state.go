package coordinator

import (
	"slices"
	"strconv"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// What stands for "not known" in states, requests and answers.
const (
	noEpoch = -1
	// noStart is the start offset of a share partition that nobody has fetched from yet.
	noStart = -1
	// noCount is the number of completed deliveries of whoever does not count them.
	noCount = -1
)

// The record types of the topic, and the only version of their values.
const (
	typeSnapshot = 0
	typeUpdate   = 1
	valueVersion = 0
)

// Key names a share partition.
type Key struct {
	Group     string
	Topic     record.UUID
	Partition int32
}

// String is what the share partition's place in the topic is worked out from, and what FindCoordinator is asked for.
func (k Key) String() string {
	return k.Group + ":" + k.Topic.String() + ":" + strconv.Itoa(int(k.Partition))
}

// state is that of one share partition. It is not changed once it is in a machine.
type state struct {
	// snapshotEpoch counts the snapshots; stateEpoch those that began anew (SHC-3).
	snapshotEpoch, stateEpoch int32
	// leaderEpoch is that of the last leader that has read the state; 0 when it begins anew.
	leaderEpoch int32
	// start is the first offset that is not done with; noStart while that is open.
	start int64
	// complete is how many offsets from start on are done with; noCount when not known.
	complete int32
	// createMs and writeMs are when the snapshot was made and when it was written; they differ in one that was
	// made only because the one before had become old.
	createMs, writeMs int64
	batches           []Batch
}

// with is the state after an update. What is -1 in it stays as it was.
func (s *state) with(v *stored.ShareUpdateValue) *state {
	out := *s
	if v.StartOffset != noStart {
		out.start = v.StartOffset
	}
	if v.LeaderEpoch != noEpoch {
		out.leaderEpoch = v.LeaderEpoch
	}
	if v.DeliveryCompleteCount != noCount {
		out.complete = v.DeliveryCompleteCount
	}
	all := slices.Clone(s.batches)
	for _, b := range v.StateBatches {
		all = append(all, Batch{b.FirstOffset, b.LastOffset, b.DeliveryState, b.DeliveryCount})
	}
	out.batches = combine(all, out.start)
	return &out
}

// stateOf is the state that a snapshot holds.
func stateOf(v *stored.ShareSnapshotValue) *state {
	s := &state{
		snapshotEpoch: v.SnapshotEpoch, stateEpoch: v.StateEpoch, leaderEpoch: v.LeaderEpoch, start: v.StartOffset,
		complete: v.DeliveryCompleteCount, createMs: v.CreateTimestamp, writeMs: v.WriteTimestamp,
	}
	for _, b := range v.StateBatches {
		s.batches = append(s.batches, Batch{b.FirstOffset, b.LastOffset, b.DeliveryState, b.DeliveryCount})
	}
	return s
}

// snapshotRecord holds a state in full.
func snapshotRecord(k Key, s *state) coord.Record {
	v := stored.NewShareSnapshotValue()
	v.SnapshotEpoch, v.StateEpoch, v.LeaderEpoch, v.StartOffset = s.snapshotEpoch, s.stateEpoch, s.leaderEpoch, s.start
	v.DeliveryCompleteCount, v.CreateTimestamp, v.WriteTimestamp = s.complete, s.createMs, s.writeMs
	for _, b := range s.batches {
		v.StateBatches = append(v.StateBatches, stored.ShareSnapshotValueStateBatch{
			FirstOffset: b.First, LastOffset: b.Last, DeliveryState: b.State, DeliveryCount: b.Count,
		})
	}
	return coord.Record{Key: snapshotKey(k), Value: stored.AppendValue(nil, &v, valueVersion)}
}

func snapshotKey(k Key) []byte {
	return stored.AppendKey(nil, &stored.ShareSnapshotKey{GroupID: k.Group, TopicID: k.Topic, Partition: k.Partition})
}

// tombstone removes a share partition.
func tombstone(k Key) coord.Record { return coord.Record{Key: snapshotKey(k)} }

// updateRecord holds what has changed since the snapshot of that epoch.
func updateRecord(k Key, snapshotEpoch int32, u update) coord.Record {
	v := stored.NewShareUpdateValue()
	v.SnapshotEpoch, v.LeaderEpoch, v.StartOffset, v.DeliveryCompleteCount = snapshotEpoch, u.leaderEpoch, u.start, u.complete
	for _, b := range u.batches {
		v.StateBatches = append(v.StateBatches, stored.ShareUpdateValueStateBatch{
			FirstOffset: b.First, LastOffset: b.Last, DeliveryState: b.State, DeliveryCount: b.Count,
		})
	}
	key := stored.AppendKey(nil, &stored.ShareUpdateKey{GroupID: k.Group, TopicID: k.Topic, Partition: k.Partition})
	return coord.Record{Key: key, Value: stored.AppendValue(nil, &v, valueVersion)}
}
