package console

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// GroupCounts are what Kafka has in group-coordinator-metrics, under its names.
type GroupCounts struct {
	// States is how many groups are in each state, by protocol: classic, consumer, share, streams.
	States map[string]map[string]int64
	// NumOffsets is how many committed offsets are held.
	NumOffsets int64
	// What follows counts since the start.
	OffsetCommits, OffsetExpirations, OffsetDeletions int64
	// CompletedRebalances are those of classic groups; Rebalances are those of the others, by protocol.
	CompletedRebalances int64
	Rebalances          map[string]int64
}

// TxnCounts are what Kafka has of transactions, under its names. The first two count since the start.
type TxnCounts struct {
	Verifications, VerificationFailures int64
	UnknownDestination, LogAppendRetry  int64
	// LatePartitions are those with a transaction that is open for longer than any may be.
	LatePartitions int64
}

// CoordinatorCounts are those of the partitions that a coordinator keeps its state in.
type CoordinatorCounts struct {
	Active, Loading, Failed, Queued int
	// Loads and LoadTime count since the start, LongestLoad is the longest since then.
	Loads                 int64
	LoadTime, LongestLoad time.Duration
}

// coordinatorMetrics show what coordinators count: Kafka's names, with dashes as underscores.
type coordinatorMetrics struct {
	groups                                                     *prometheus.Desc
	states                                                     map[string]*prometheus.Desc
	offsets, commits, expirations, deletions, completed        *prometheus.Desc
	rebalances                                                 map[string]*prometheus.Desc
	verifications, failures, unknownDestination, retries, late *prometheus.Desc
	partitions, queued, loads, loadTime, longestLoad           *prometheus.Desc
}

func newCoordinatorMetrics(desc func(name, help string, labels ...string) *prometheus.Desc) coordinatorMetrics {
	m := coordinatorMetrics{
		groups:             desc("group_count", "Groups coordinated here.", "protocol"),
		states:             map[string]*prometheus.Desc{},
		offsets:            desc("num_offsets", "Committed offsets that are held."),
		commits:            desc("offset_commit_count_total", "Offsets that were committed."),
		expirations:        desc("offset_expiration_count_total", "Offsets that expired."),
		deletions:          desc("offset_deletion_count_total", "Offsets that were deleted on request."),
		completed:          desc("group_completed_rebalance_count_total", "Rebalances of classic groups that were completed."),
		rebalances:         map[string]*prometheus.Desc{},
		verifications:      desc("transaction_verification_count_total", "Times that a partition asked whether a transaction has it."),
		failures:           desc("transaction_verification_failure_count_total", "Times that the answer was no."),
		unknownDestination: desc("unknown_destination_queue_size", "Decided transactions that wait for partitions that did not take their marker."),
		retries:            desc("log_append_retry_queue_size", "Transactions whose end is to be recorded once more."),
		late:               desc("partitions_with_late_transactions_count", "Partitions with a transaction that is open for longer than any may be."),
		partitions:         desc("coordinator_num_partitions", "Partitions that a coordinator keeps its state in.", "coordinator", "state"),
		queued:             desc("coordinator_event_queue_size", "Operations that wait for their partition.", "coordinator"),
		loads:              desc("coordinator_partition_loads_total", "Partitions that were read.", "coordinator"),
		loadTime:           desc("coordinator_partition_load_time_seconds_total", "How long that took together.", "coordinator"),
		longestLoad:        desc("coordinator_partition_load_time_max_seconds", "The longest of them.", "coordinator"),
	}
	for _, protocol := range []string{"classic", "consumer", "share", "streams"} {
		m.states[protocol] = desc(protocol+"_group_count", "Groups of the protocol in a state.", "state")
		m.rebalances[protocol] = desc(protocol+"_group_rebalance_count_total", "Times that there was reason for a new assignment.")
	}
	return m
}

func (m coordinatorMetrics) collect(out sink, c Counts) {
	g, t := c.GroupCoordinator, c.Transactions
	for protocol, states := range g.States {
		all := int64(0)
		for state, n := range states {
			all += n
			out.gauge(m.states[protocol], float64(n), state)
		}
		out.gauge(m.groups, float64(all), protocol)
	}
	for protocol, n := range g.Rebalances {
		out.counter(m.rebalances[protocol], float64(n))
	}
	out.gauge(m.offsets, float64(g.NumOffsets))
	out.counter(m.commits, float64(g.OffsetCommits))
	out.counter(m.expirations, float64(g.OffsetExpirations))
	out.counter(m.deletions, float64(g.OffsetDeletions))
	out.counter(m.completed, float64(g.CompletedRebalances))
	out.counter(m.verifications, float64(t.Verifications))
	out.counter(m.failures, float64(t.VerificationFailures))
	out.gauge(m.unknownDestination, float64(t.UnknownDestination))
	out.gauge(m.retries, float64(t.LogAppendRetry))
	out.gauge(m.late, float64(t.LatePartitions))
	for name, x := range c.Coordinators {
		out.gauge(m.partitions, float64(x.Active), name, "active")
		out.gauge(m.partitions, float64(x.Loading), name, "loading")
		out.gauge(m.partitions, float64(x.Failed), name, "failed")
		out.gauge(m.queued, float64(x.Queued), name)
		out.counter(m.loads, float64(x.Loads), name)
		out.counter(m.loadTime, x.LoadTime.Seconds(), name)
		out.gauge(m.longestLoad, x.LongestLoad.Seconds(), name)
	}
}
