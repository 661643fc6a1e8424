package group

import "sync/atomic"

// counters are what the coordinator counts; any goroutine may read them.
type counters struct {
	offsetCommits       atomic.Int64
	offsetExpirations   atomic.Int64
	offsetDeletions     atomic.Int64
	completedRebalances atomic.Int64
	offsets             atomic.Int64
	groups              [numStates]atomic.Int64
	consumerGroups      atomic.Int64
	consumerRebalances  atomic.Int64
	streamsGroups       atomic.Int64
	streamsRebalances   atomic.Int64
	shareGroups         atomic.Int64
	stableShareGroups   atomic.Int64
	shareRebalances     atomic.Int64
}

// Metrics is a reading of the coordinator's counters (Kafka's group-coordinator-metrics).
type Metrics struct {
	// OffsetCommits, OffsetExpirations and OffsetDeletions count offsets since the start.
	OffsetCommits, OffsetExpirations, OffsetDeletions int64
	// CompletedRebalances counts classic groups that became Stable.
	CompletedRebalances int64
	// Offsets is how many committed offsets are held.
	Offsets int64
	// Groups is how many classic groups are in each state.
	Groups map[State]int64
	// ConsumerGroups is how many groups of the consumer protocol there are, ConsumerRebalances how often one of them
	// had reason for a new assignment.
	ConsumerGroups, ConsumerRebalances int64
	// StreamsGroups and StreamsRebalances are the same for groups of the streams protocol.
	StreamsGroups, StreamsRebalances int64
	// ShareGroups and ShareRebalances are the same for share groups. StableShareGroups have members.
	ShareGroups, StableShareGroups, ShareRebalances int64
}

// Metrics reads the counters.
func (s *Service) Metrics() Metrics {
	c := &s.env.counters
	m := Metrics{
		OffsetCommits:       c.offsetCommits.Load(),
		OffsetExpirations:   c.offsetExpirations.Load(),
		OffsetDeletions:     c.offsetDeletions.Load(),
		CompletedRebalances: c.completedRebalances.Load(),
		Offsets:             c.offsets.Load(),
		Groups:              map[State]int64{},
		ConsumerGroups:      c.consumerGroups.Load(),
		ConsumerRebalances:  c.consumerRebalances.Load(),
		StreamsGroups:       c.streamsGroups.Load(),
		StreamsRebalances:   c.streamsRebalances.Load(),
		ShareGroups:         c.shareGroups.Load(),
		StableShareGroups:   c.stableShareGroups.Load(),
		ShareRebalances:     c.shareRebalances.Load(),
	}
	for st := range numStates {
		m.Groups[st] = c.groups[st].Load()
	}
	return m
}
