package coordinator

import (
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// env is what all shards share. Its fields are set once.
type env struct {
	settings func() Settings
	// exists tells whether the metadata has a partition of a topic.
	exists func(topic record.UUID, partition int32) bool
	// prune has the records below an offset deleted, in the background.
	prune  func(partition int32, before record.Offset)
	now    func() time.Time
	logger *slog.Logger
}

// machine is the state of one partition of __share_group_state: the share partitions that hash to it.
type machine struct {
	env    *env
	shard  int32
	timers *coord.Timers
	held   map[Key]*entry
	// next is the offset after the last record; pruned is what DeleteRecords was last asked for.
	next, pruned record.Offset
}

// entry is one share partition in its shard.
type entry struct {
	*state
	// leaderEpoch is the highest that was seen (SHC-4).
	leaderEpoch int32
	// snapshotAt is the offset of the last snapshot (SHC-6), updates how many updates stand after it.
	snapshotAt record.Offset
	updates    int
}

func newMachine(e *env, shard int32, timers *coord.Timers) *machine {
	return &machine{env: e, shard: shard, timers: timers, held: map[Key]*entry{}}
}

func (m *machine) nowMs() int64 { return m.env.now().UnixMilli() }

// Replay applies one record. Types that are not known are left alone; a value that cannot be read is an error.
func (m *machine) Replay(r coord.Replayed) error {
	m.next = r.Offset + 1
	key, err := stored.DecodeKey(r.Key, stored.NewShareKey)
	if errors.Is(err, stored.ErrUnknownRecord) {
		m.env.logger.Warn("a record of unknown type in the share state topic is left out", "offset", r.Offset)
		return nil
	}
	if err != nil {
		return err
	}
	switch k := key.(type) {
	case *stored.ShareSnapshotKey:
		return m.replaySnapshot(Key{k.GroupID, k.TopicID, k.Partition}, r)
	case *stored.ShareUpdateKey:
		return m.replayUpdate(Key{k.GroupID, k.TopicID, k.Partition}, r)
	}
	return stored.ErrUnknownRecord
}

func (m *machine) replaySnapshot(k Key, r coord.Replayed) error {
	if r.Value == nil {
		delete(m.held, k)
		return nil
	}
	value, _, err := stored.DecodeValue(r.Value, typeSnapshot, stored.NewShareValue)
	if err != nil {
		return err
	}
	v, ok := value.(*stored.ShareSnapshotValue)
	if !ok {
		return stored.ErrUnknownRecord
	}
	e := &entry{state: stateOf(v), leaderEpoch: v.LeaderEpoch, snapshotAt: r.Offset}
	if old := m.held[k]; old != nil {
		e.leaderEpoch = max(e.leaderEpoch, old.leaderEpoch)
	}
	m.held[k] = e
	return nil
}

// replayUpdate applies what came after a snapshot. Without one the update is all that is known: the snapshot was cut off
// below the log start by somebody else.
func (m *machine) replayUpdate(k Key, r coord.Replayed) error {
	if r.Value == nil {
		return nil
	}
	value, _, err := stored.DecodeValue(r.Value, typeUpdate, stored.NewShareValue)
	if err != nil {
		return err
	}
	v, ok := value.(*stored.ShareUpdateValue)
	if !ok {
		return stored.ErrUnknownRecord
	}
	e := m.held[k]
	if e == nil {
		e = &entry{state: &state{snapshotEpoch: v.SnapshotEpoch, stateEpoch: noEpoch, start: noStart}, leaderEpoch: noEpoch, snapshotAt: r.Offset}
		m.held[k] = e
	}
	e.state = e.with(v)
	e.leaderEpoch = max(e.leaderEpoch, v.LeaderEpoch)
	e.updates++
	return nil
}

// ReplayMarker implements coord.Machine. Nobody writes transactionally to the topic.
func (m *machine) ReplayMarker(record.ProducerID, bool) {}

// Loaded starts the clocks.
func (m *machine) Loaded() coord.Result {
	m.every(func() time.Duration { return m.env.settings().PruneInterval }, m.prune)
	m.every(func() time.Duration { return m.env.settings().ColdInterval }, m.snapshotCold)
	return coord.None()
}

// Unloaded implements coord.Machine. Nobody waits in here.
func (m *machine) Unloaded() {}

// every runs f again and again.
func (m *machine) every(interval func() time.Duration, f func() coord.Result) {
	m.timers.AfterFunc(interval(), func() coord.Result {
		m.every(interval, f)
		return f()
	})
}

// update is what a writer says of a share partition; -1 where it says nothing.
type update struct {
	stateEpoch, leaderEpoch int32
	start                   int64
	complete                int32
	batches                 []Batch
}

// record is what is to be written for an update, where it says nothing with what holds already: the update, or a snapshot when enough of them were (SHC-2).
func (m *machine) record(k Key, e *entry, u update) coord.Record {
	if u.leaderEpoch == noEpoch {
		u.leaderEpoch = e.state.leaderEpoch
	}
	if u.start == noStart {
		u.start = e.start
	}
	if u.complete == noCount {
		u.complete = e.complete
	}
	if e.updates < m.env.settings().UpdatesPerSnapshot {
		u.batches = combine(u.batches, u.start)
		return updateRecord(k, e.snapshotEpoch, u)
	}
	next, nowMs := *e.state, m.nowMs()
	next.snapshotEpoch++
	next.createMs, next.writeMs = nowMs, nowMs
	next.leaderEpoch, next.start, next.complete = u.leaderEpoch, u.start, u.complete
	next.batches = combine(append(append([]Batch(nil), e.batches...), u.batches...), next.start)
	return snapshotRecord(k, &next)
}

// known checks that the metadata has what a share partition is about.
func (m *machine) known(k Key) *kerr.Error {
	if !m.env.exists(k.Topic, k.Partition) {
		return kerr.UnknownTopicOrPartition
	}
	return nil
}
