package txn

import (
	"sync/atomic"

	"github.com/samsalog/samsa/internal/coord"
)

// counters are what the coordinator counts; any goroutine may read them.
type counters struct {
	verifications, verificationFailures atomic.Int64
	withoutMarkers, unrecorded          atomic.Int64
}

// Metrics is a reading of the coordinator's counters.
type Metrics struct {
	// Verifications counts since the start how often partitions asked about a transaction, VerificationFailures how often
	// one of them was refused.
	Verifications, VerificationFailures int64
	// WithoutMarkers is how many transactions are decided and wait for partitions that did not take their marker (Kafka's
	// UnknownDestinationQueueSize), Unrecorded how many have all markers and wait for that to be recorded
	// (LogAppendRetryQueueSize).
	WithoutMarkers, Unrecorded int64
	// Shards are the partitions of the transaction topic that are led here.
	Shards coord.Counts
}

// Metrics reads the counters.
func (s *Service) Metrics() Metrics {
	c := &s.env.counters
	return Metrics{
		Verifications: c.verifications.Load(), VerificationFailures: c.verificationFailures.Load(),
		WithoutMarkers: c.withoutMarkers.Load(), Unrecorded: c.unrecorded.Load(), Shards: s.runtime.Counts(),
	}
}

// verified counts the answers to a verification.
func (c *counters) verified(codes []int16) []int16 {
	c.verifications.Add(1)
	for _, code := range codes {
		if code != 0 {
			c.verificationFailures.Add(1)
			break
		}
	}
	return codes
}
