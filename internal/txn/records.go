package txn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// recordType is the only one of the transaction topic.
const recordType = 0

// keyOf is the key of a transactional id.
func keyOf(id string) []byte {
	return stored.AppendKey(nil, &stored.TransactionLogKey{TransactionalID: id})
}

// recordOf is the record of a transactional id in a value version, 0 or 1.
func recordOf(t *transaction, version int16) coord.Record {
	v := stored.NewTransactionLogValue()
	v.ProducerID, v.PreviousProducerID, v.NextProducerID = int64(t.producerID), int64(t.previousProducerID), int64(t.nextProducerID)
	v.ProducerEpoch, v.TransactionTimeoutMs, v.TransactionStatus = int16(t.epoch), t.timeoutMs, int8(t.state)
	v.TransactionLastUpdateTimestampMs, v.TransactionStartTimestampMs = t.updateMs, t.startMs
	v.ClientTransactionVersion = t.version
	v.TransactionPartitions = topicsOf(t.partitions)
	if t.state == Empty {
		v.TransactionPartitions = nil // null: the others have a list, if only an empty one
	}
	return coord.Record{Key: keyOf(t.id), Value: stored.AppendValue(nil, &v, version)}
}

// topicsOf groups partitions, which are in order, by topic.
func topicsOf(partitions []record.TopicPartition) []stored.TransactionLogValuePartitionsSchema {
	out := []stored.TransactionLogValuePartitionsSchema{}
	for _, tp := range partitions {
		if n := len(out); n == 0 || out[n-1].Topic != tp.Topic {
			out = append(out, stored.TransactionLogValuePartitionsSchema{Topic: tp.Topic})
		}
		last := &out[len(out)-1]
		last.PartitionIDs = append(last.PartitionIDs, tp.Partition)
	}
	return out
}

var errState = errors.New("a transactional id in a state that is never written")

// transactionFrom reads a record's value.
func transactionFrom(id string, value []byte) (transaction, error) {
	m, _, err := stored.DecodeValue(value, recordType, stored.NewTxnValue)
	if err != nil {
		return transaction{}, err
	}
	v, ok := m.(*stored.TransactionLogValue)
	if !ok {
		return transaction{}, stored.ErrUnknownRecord
	}
	t := transaction{
		id: id, producerID: record.ProducerID(v.ProducerID), previousProducerID: record.ProducerID(v.PreviousProducerID),
		nextProducerID: record.ProducerID(v.NextProducerID), epoch: record.ProducerEpoch(v.ProducerEpoch), previousEpoch: record.NoProducerEpoch,
		timeoutMs: v.TransactionTimeoutMs, state: State(v.TransactionStatus),
		updateMs: v.TransactionLastUpdateTimestampMs, startMs: v.TransactionStartTimestampMs, version: v.ClientTransactionVersion,
	}
	if t.state < 0 || t.state >= PrepareEpochFence {
		return transaction{}, fmt.Errorf("%w: %d", errState, t.state)
	}
	for _, x := range v.TransactionPartitions {
		for _, p := range x.PartitionIDs {
			t.partitions = append(t.partitions, record.TopicPartition{Topic: x.Topic, Partition: p})
		}
	}
	slices.SortFunc(t.partitions, comparePartitions)
	t.partitions = slices.Compact(t.partitions)
	return t, nil
}
