package samsa

import (
	"time"

	"github.com/samsalog/samsa/internal/console"
	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/storage"
)

// countCoordinators is what the console shows of groups and transactions.
func (s *starting) countCoordinators(c *console.Counts) {
	b := s.b
	g, t := b.groups.Metrics(), b.txns.Metrics()
	c.GroupCoordinator = console.GroupCounts{
		States: b.groups.States(), NumOffsets: g.Offsets, OffsetCommits: g.OffsetCommits, OffsetExpirations: g.OffsetExpirations,
		OffsetDeletions: g.OffsetDeletions, CompletedRebalances: g.CompletedRebalances,
		Rebalances: map[string]int64{"consumer": g.ConsumerRebalances, "share": g.ShareRebalances, "streams": g.StreamsRebalances},
	}
	c.Transactions = console.TxnCounts{
		Verifications: t.Verifications, VerificationFailures: t.VerificationFailures,
		UnknownDestination: t.WithoutMarkers, LogAppendRetry: t.Unrecorded, LatePartitions: s.lateTransactions(time.Now()),
	}
	c.Coordinators = map[string]console.CoordinatorCounts{
		"group": shardCounts(g.Shards), "transaction": shardCounts(t.Shards), "share": shardCounts(b.shareState.Shards()),
	}
}

func shardCounts(c coord.Counts) console.CoordinatorCounts {
	return console.CoordinatorCounts{
		Active: c.Active, Loading: c.Loading, Failed: c.Failed, Queued: c.Queued, Loads: c.Loads, LoadTime: c.LoadTime, LongestLoad: c.LongestLoad,
	}
}

// lateGrace is how long after the longest transaction timeout the coordinator must have ended a transaction
// (ProducerStateManager of Kafka).
const lateGrace = 5 * time.Minute

// lateTransactions counts the partitions with a transaction whose newest batch is older than any transaction may be.
func (s *starting) lateTransactions(now time.Time) (n int64) {
	oldest := now.Add(-s.current().Duration("transaction.max.timeout.ms") - lateGrace).UnixMilli()
	for _, d := range s.b.dirs.Dirs() {
		for _, l := range d.Logs {
			if late(l, oldest) {
				n++
			}
		}
	}
	return n
}

func late(l *storage.Log, oldestMs int64) bool {
	if l.LastStableOffset() >= l.HighWatermark() {
		return false // nothing is open, and nobody need look at the producers
	}
	for _, p := range l.Producers() {
		if p.CurrentTxnFirstOffset >= 0 && p.LastTimestamp < oldestMs {
			return true
		}
	}
	return false
}
