package coordinator

import (
	"maps"
	"slices"
	"strings"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// prune has the records deleted that no share partition rests on (SHC-6), as far as they are committed.
func (m *machine) prune() coord.Result {
	before := m.redundant()
	if before <= m.pruned {
		return coord.None()
	}
	return coord.After(func(err error) {
		if err == nil {
			m.pruned = before
			m.env.prune(m.shard, before)
		}
	})
}

// redundant is the offset below which nothing is needed: that of the oldest snapshot.
func (m *machine) redundant() record.Offset {
	before := m.next
	for _, e := range m.held {
		before = min(before, e.snapshotAt)
	}
	return before
}

// snapshotCold writes share partitions in full whose last snapshot is old: they are quiet, and without a new one the log
// start could not rise past them. If all are quiet already that would bring nothing.
func (m *machine) snapshotCold() coord.Result {
	cold, nowMs := 0, m.nowMs()
	for _, e := range m.held {
		if e.createMs != e.writeMs {
			cold++
		}
	}
	if cold == len(m.held) {
		return coord.None()
	}
	var records []coord.Record
	for _, k := range sortedKeys(m.held) {
		e := m.held[k]
		if nowMs-e.writeMs < m.env.settings().ColdInterval.Milliseconds() {
			continue
		}
		next := *e.state
		next.snapshotEpoch++
		next.writeMs = nowMs
		records = append(records, snapshotRecord(k, &next))
	}
	return m.housekeep("cannot write quiet share partitions in full, it is tried again later", records)
}

// dropTopics removes the share partitions of topics that are no more.
func (m *machine) dropTopics(topics map[record.UUID]struct{}) coord.Result {
	var records []coord.Record
	for _, k := range sortedKeys(m.held) {
		if _, gone := topics[k.Topic]; gone {
			records = append(records, tombstone(k))
		}
	}
	return m.housekeep("cannot remove the share state of deleted topics", records)
}

// housekeep is a Result that nobody waits for.
func (m *machine) housekeep(failure string, records []coord.Record) coord.Result {
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn(failure, "partition", m.shard, "records", len(records), "err", err)
		}
		return coord.None()
	}}
}

func sortedKeys[V any](m map[Key]V) []Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b Key) int {
		switch {
		case a.Group != b.Group:
			return strings.Compare(a.Group, b.Group)
		case a.Topic != b.Topic:
			return strings.Compare(string(a.Topic[:]), string(b.Topic[:]))
		}
		return int(a.Partition) - int(b.Partition)
	})
}
