package handler

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/txn"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

// The version of Produce from which …
const (
	produceAbortable = 11 // … clients know TRANSACTION_ABORTABLE (KIP-890)
	produceAdds      = 12 // … partitions are added to the transaction by the way (KIP-890, transaction version 2)
)

var (
	errNoTransactionalID      = errors.New("a transactional batch came without a transactional id")
	errUnknownTransactionalID = fmt.Errorf("the transactional id has another producer id: %w", kerr.InvalidProducerIDMapping)
	errNotAdded               = fmt.Errorf("the partition was not added to the transaction: %w", kerr.InvalidTxnState)
)

// produceTxn is what is known of the transactional batches of a Produce request before any of them is appended: a
// transaction may only be begun on partitions that it has (KIP-890).
type produceTxn struct {
	// refused is an error of the whole request.
	refused error
	checked map[partitionKey]txnCheck
}

type partitionKey struct {
	topic     record.UUID
	partition int32
}

// txnCheck is the coordinator's word on one partition.
type txnCheck struct {
	// guard goes with the append.
	guard int64
	err   error
}

// verifyTxn asks the transaction coordinator, once for the request, about the partitions on which a transaction begins.
func (c *produceCall) verifyTxn(ctx context.Context) {
	if c.req.TransactionID == nil {
		return
	}
	v := txn.Verification{TransactionalID: *c.req.TransactionID, ProducerID: record.NoProducerID, Add: c.r.Version >= produceAdds}
	var asked []partitionKey
	for i := range c.req.Topics {
		t := &c.req.Topics[i]
		name, id, _ := c.resolve(t)
		last := newLastNamed(t.Partitions)
		for j := range t.Partitions {
			b, ok := c.transactionalBatch(id, &t.Partitions[j])
			if !ok || !last.counts(t.Partitions[j].Partition, j) {
				continue
			}
			head := b.Header()
			if v.ProducerID != record.NoProducerID && v.ProducerID != head.ProducerID {
				c.txn.refused = errUnknownTransactionalID
				return
			}
			v.ProducerID, v.ProducerEpoch = head.ProducerID, head.ProducerEpoch
			key := partitionKey{id, t.Partitions[j].Partition}
			if c.startVerification(key, &head) {
				asked = append(asked, key)
				v.Partitions = append(v.Partitions, record.TopicPartition{Topic: name, Partition: key.partition})
			}
		}
	}
	if len(asked) == 0 {
		return
	}
	for i, code := range c.h.deps.Transactions.Verify(ctx, v) {
		check := c.txn.checked[asked[i]]
		check.err = verifyError(c.r.Version, code)
		c.txn.checked[asked[i]] = check
	}
}

// transactionalBatch returns the batch for a partition if it belongs to a transaction. One that will be
// refused anyway is none.
func (c *produceCall) transactionalBatch(id record.UUID, p *kmsg.ProduceRequestTopicPartition) (record.Batch, bool) {
	b, fault := soleBatch(p.Records, c.r.Version)
	if fault != nil || !b.Header().IsTransactional() {
		return nil, false
	}
	part, err := c.h.hosted(c.image, id, p.Partition)
	return b, err == nil && part.CheckLeads() == nil
}

// startVerification takes a guard for a partition and reports whether the coordinator must be asked about it.
func (c *produceCall) startVerification(key partitionKey, head *record.Header) bool {
	part, err := c.h.hosted(c.image, key.topic, key.partition)
	if err != nil {
		return false
	}
	guard := part.Log().StartVerification(head.ProducerID, head.BaseSequence, head.ProducerEpoch, c.r.Version >= produceAdds)
	if guard == producer.NoGuard {
		return false
	}
	if c.txn.checked == nil {
		c.txn.checked = map[partitionKey]txnCheck{}
	}
	c.txn.checked[key] = txnCheck{guard: guard}
	return true
}

// guard returns what must come with a transactional batch, or why it is refused.
func (c *produceCall) guard(key partitionKey) (int64, error) {
	if c.req.TransactionID == nil {
		return 0, errNoTransactionalID
	}
	check := c.txn.checked[key]
	return check.guard, check.err
}

// verifyError is the coordinator's answer in the words of a version of Produce. Troubles of the coordinator become
// NOT_ENOUGH_REPLICAS, which all clients try again without asking for metadata first.
func verifyError(version, c int16) error {
	switch c {
	case 0:
		return nil
	case kerr.TransactionAbortable.Code:
		if version < produceAbortable {
			return errNotAdded
		}
	case kerr.InvalidTxnState.Code:
		return errNotAdded
	case kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code:
		return kerr.NotEnoughReplicas
	case kerr.ConcurrentTransactions.Code:
		if version < produceAdds {
			return kerr.NotEnoughReplicas
		}
	case kerr.ProducerFenced.Code:
		return kerr.InvalidProducerEpoch
	}
	return kerr.TypedErrorForCode(c)
}
