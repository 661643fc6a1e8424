package console

import "github.com/prometheus/client_golang/prometheus"

// ShareCounts are the figures of share groups: what there is now, and records since the start.
type ShareCounts struct {
	Sessions, Partitions        int
	InFlight, Acquired, Expired int64
	// Acknowledged is by type: gap, accept, release, reject, renew.
	Acknowledged map[string]int64
	// LettersWritten are records in dead-letter queues, LettersLost those that could not come there; LetterRequests are the
	// batches that were to be written, LetterFailures those that were not.
	LettersWritten, LettersLost, LetterRequests, LetterFailures int64
}

// shareMetrics show ShareCounts.
type shareMetrics struct {
	sessions, partitions, inFlight, acquired, expired, acknowledged *prometheus.Desc
	letters, lost, requests, failures                               *prometheus.Desc
}

func newShareMetrics(desc func(name, help string, labels ...string) *prometheus.Desc) shareMetrics {
	return shareMetrics{
		sessions:     desc("share_sessions", "Share sessions that are open."),
		partitions:   desc("share_partitions", "Share partitions led here that are in memory."),
		inFlight:     desc("share_records_in_flight", "Offsets from the start of share partitions to the last one that was handed out."),
		acquired:     desc("share_records_acquired_total", "Records that were handed out to members of share groups."),
		expired:      desc("share_record_locks_expired_total", "Records that members kept for longer than their lock."),
		acknowledged: desc("share_records_acknowledged_total", "Records that members acknowledged.", "type"),
		letters:      desc("share_dead_letters_total", "Records that were put into dead-letter queues."),
		lost:         desc("share_dead_letters_lost_total", "Records that were given up and could not be put into the group's dead-letter queue."),
		requests:     desc("share_dead_letter_writes_total", "Batches for dead-letter queues."),
		failures:     desc("share_dead_letter_writes_failed_total", "Batches for dead-letter queues that could not be written."),
	}
}

func (m shareMetrics) collect(out sink, c ShareCounts) {
	out.gauge(m.sessions, float64(c.Sessions))
	out.gauge(m.partitions, float64(c.Partitions))
	out.gauge(m.inFlight, float64(c.InFlight))
	out.counter(m.acquired, float64(c.Acquired))
	out.counter(m.expired, float64(c.Expired))
	out.counter(m.letters, float64(c.LettersWritten))
	out.counter(m.lost, float64(c.LettersLost))
	out.counter(m.requests, float64(c.LetterRequests))
	out.counter(m.failures, float64(c.LetterFailures))
	for kind, n := range c.Acknowledged {
		out.counter(m.acknowledged, float64(n), kind)
	}
}
