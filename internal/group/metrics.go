package group

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/samsalog/samsa/internal/coord"
)

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
	// Shards are the partitions of the offsets topic that are led here.
	Shards coord.Counts
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
		Shards:              s.runtime.Counts(),
	}
	for st := range numStates {
		m.Groups[st] = c.groups[st].Load()
	}
	return m
}

// statesPatience bounds how long States waits for a shard that is busy.
const statesPatience = time.Second

// States is how many groups are in which state, by protocol (classic, consumer, share, streams) and Kafka's word for the
// state. The shards are asked, so that nobody need count with every record; one that is being read, or busy for long, is
// left out.
func (s *Service) States() map[string]map[string]int64 {
	out := map[string]map[string]int64{
		"classic": {}, "share": {},
		"consumer": {"Empty": 0, "Assigning": 0, "Reconciling": 0, "Stable": 0},
		"streams":  {"Empty": 0, "NotReady": 0, "Assigning": 0, "Reconciling": 0, "Stable": 0},
	}
	for st := range numStates {
		out["classic"][st.String()] = s.env.counters.groups[st].Load()
	}
	stable, all := s.env.counters.stableShareGroups.Load(), s.env.counters.shareGroups.Load()
	out["share"]["Stable"], out["share"]["Empty"] = stable, all-stable
	var counted struct {
		sync.Mutex
		over bool
	}
	var asked sync.WaitGroup
	for _, p := range s.runtime.Partitions() {
		asked.Add(1)
		err := s.runtime.Submit(p, coord.Op[*machine]{
			Shares: true,
			Run: func(m *machine) coord.Result {
				defer asked.Done()
				counted.Lock()
				defer counted.Unlock()
				if !counted.over {
					m.countStates(out)
				}
				return coord.None()
			},
			Fail: func(error) { asked.Done() },
		})
		if err != nil {
			asked.Done()
		}
	}
	done := make(chan struct{})
	go func() { asked.Wait(); close(done) }()
	limit := time.NewTimer(statesPatience)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
	counted.Lock()
	defer counted.Unlock()
	counted.over = true
	return out
}

func (m *machine) countStates(out map[string]map[string]int64) {
	for _, g := range m.consumers {
		out["consumer"][g.State()]++
	}
	for _, g := range m.streams {
		out["streams"][g.State()]++
	}
}
