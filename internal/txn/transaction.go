package txn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/samsalog/samsa/record"
)

// lastEpoch is the last epoch that a producer is given. One more is left for fencing it (TransactionMetadata).
const lastEpoch record.ProducerEpoch = 1<<15 - 2

// transaction is what is known of one transactional id. It is a value: a transition makes a new one, which takes the old
// one's place when its record is written. partitions is never changed in place.
type transaction struct {
	id         string
	producerID record.ProducerID
	// previousProducerID is the producer id before the transition that led here: another one only right after the epochs
	// of that were used up.
	previousProducerID record.ProducerID
	// nextProducerID is what the producer goes on with once an end that used up the epochs is complete; -1 none.
	nextProducerID record.ProducerID
	epoch          record.ProducerEpoch
	// previousEpoch lets a client repeat a request that has raised the epoch: the epoch it knows, -1 if another client
	// has come since. It is not part of the record, so repeating across a restart works only where the record tells.
	previousEpoch record.ProducerEpoch
	timeoutMs     int32
	state         State
	// partitions are those of the open or decided transaction, in order.
	partitions []record.TopicPartition
	updateMs   int64
	// startMs is when the transaction was begun, also after its end; -1 before the first.
	startMs int64
	// version is the transaction version of the client that has begun or ended the transaction.
	version int16
}

// exhausted reports whether no epoch is left to be given out.
func (t *transaction) exhausted() bool { return t.epoch >= lastEpoch }

// to begins a transition: the copy knows its state and from which producer id it came.
func (t *transaction) to(s State, nowMs int64) transaction {
	next := *t
	next.state, next.updateMs = s, nowMs
	next.previousProducerID = t.producerID
	return next
}

// initialized is the state after InitProducerId without an open transaction.
func (t *transaction) initialized(timeoutMs int32, nowMs int64) transaction {
	next := t.to(Empty, nowMs)
	next.timeoutMs, next.partitions, next.startMs = timeoutMs, nil, -1
	return next
}

// with is the open transaction with partitions added.
func (t *transaction) with(added []record.TopicPartition, version int16, nowMs int64) transaction {
	next := t.to(Ongoing, nowMs)
	next.version = version
	if t.state != Ongoing {
		next.startMs = nowMs
	}
	next.partitions = slices.Concat(t.partitions, added)
	slices.SortFunc(next.partitions, comparePartitions)
	next.partitions = slices.Compact(next.partitions)
	return next
}

// has reports whether all of the partitions belong to the transaction.
func (t *transaction) has(partitions ...record.TopicPartition) bool {
	for _, tp := range partitions {
		if _, found := slices.BinarySearchFunc(t.partitions, tp, comparePartitions); !found {
			return false
		}
	}
	return true
}

// ended is the decided transaction. With version 2 the epoch goes up with it (TXN-6); nextID is the producer id that
// follows when no epoch is left, else -1.
func (t *transaction) ended(commit bool, version int16, nextID record.ProducerID, nowMs int64) transaction {
	s := PrepareAbort
	if commit {
		s = PrepareCommit
	}
	next := t.to(s, nowMs)
	next.version = version
	if t.state != Ongoing {
		next.startMs, next.partitions = nowMs, nil
	}
	if version >= txnVersionBumps {
		next.epoch, next.previousEpoch = bumped(t.epoch), t.epoch
		next.nextProducerID = nextID
	}
	return next
}

// fenced is the aborted transaction whose producer may not go on. version is the broker's.
func (t *transaction) fenced(version int16, nowMs int64) transaction {
	next := t.ended(false, version, record.NoProducerID, nowMs)
	if version < txnVersionBumps {
		next.epoch, next.previousEpoch = bumped(t.epoch), record.NoProducerEpoch
	}
	return next
}

// completed is the transaction after its last marker.
func (t *transaction) completed(nowMs int64) transaction {
	s := CompleteAbort
	if t.state == PrepareCommit {
		s = CompleteCommit
	}
	next := t.to(s, nowMs)
	next.partitions = nil
	if t.nextProducerID != record.NoProducerID {
		next.producerID, next.nextProducerID, next.epoch = t.nextProducerID, record.NoProducerID, 0
	}
	return next
}

// bumped is the next epoch. The last one there is has no next: a producer that was fenced with it stays fenced.
func bumped(e record.ProducerEpoch) record.ProducerEpoch {
	if e > lastEpoch {
		return e
	}
	return e + 1
}

func comparePartitions(a, b record.TopicPartition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
