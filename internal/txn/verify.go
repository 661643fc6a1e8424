package txn

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/record"
)

// Verification asks, before a batch of a transaction is appended, whether the transaction has its partition (KIP-890).
type Verification struct {
	TransactionalID string
	ProducerID      record.ProducerID
	ProducerEpoch   record.ProducerEpoch
	Partitions      []record.TopicPartition
	// Add has the partitions added, for clients of transaction version 2, which do not add them before.
	Add bool
}

// Verify answers with a Kafka error code for each partition: 0, TRANSACTION_ABORTABLE for partitions that the
// transaction does not have, or why it cannot be told. An addition that meets the end of the transaction before waits
// for that a little, since a client goes on at once when it has the answer to its EndTxn.
func (s *Service) Verify(ctx context.Context, v Verification) []int16 {
	q := addition{
		id: v.TransactionalID, identity: identity{v.ProducerID, v.ProducerEpoch}, partitions: v.Partitions, version: txnVersionBumps,
	}
	settings := s.env.settings()
	switch {
	case v.Add:
		return s.env.counters.verified(repeat(s.addPatiently(ctx, q, settings.AddRetryMax), len(v.Partitions)))
	case !settings.VerifyPartitions:
		return make([]int16, len(v.Partitions))
	}
	return s.env.counters.verified(s.has(q))
}

func (s *Service) addPatiently(ctx context.Context, q addition, limit time.Duration) int16 {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		r := s.add(q)
		if r.code != kerr.ConcurrentTransactions.Code || r.over == nil {
			return r.code
		}
		select {
		case <-r.over:
		case <-ctx.Done():
			return r.code
		}
	}
}
