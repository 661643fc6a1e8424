package producer

import "github.com/samsalog/samsa/record"

// NoCoordinatorEpoch stands for a producer that no end marker was written for.
const NoCoordinatorEpoch int32 = -1

// maxBatches is how many batches are remembered for duplicates: producers have at most five in flight
// (ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
const maxBatches = 5

// Entry is the newest state of one producer, as a snapshot file holds it and DescribeProducers shows it.
type Entry struct {
	ProducerID    record.ProducerID
	ProducerEpoch record.ProducerEpoch
	// LastSequence is that of the newest data batch, -1 when only a marker is known.
	LastSequence record.Sequence
	// LastOffset is that of the newest data batch, -1 when only a marker is known.
	LastOffset record.Offset
	// OffsetDelta is last minus first offset of that batch; 0 without batch.
	OffsetDelta int32
	// LastTimestamp is the maximum timestamp of the newest batch or marker, in ms; expiry counts from it.
	LastTimestamp int64
	// CoordinatorEpoch is that of the newest end marker, -1 when there was none.
	CoordinatorEpoch int32
	// CurrentTxnFirstOffset is where the open transaction begins, -1 when none is open.
	CurrentTxnFirstOffset record.Offset
}

// Batch is what is remembered of one data batch.
type Batch struct {
	LastSequence record.Sequence
	LastOffset   record.Offset
	// OffsetDelta is last minus first offset; sequences have the same distance.
	OffsetDelta int32
	// Timestamp is the batch's maximum timestamp in ms.
	Timestamp int64
}

// FirstSequence is the sequence of the batch's first record.
func (b Batch) FirstSequence() record.Sequence { return b.LastSequence.Back(b.OffsetDelta) }

// FirstOffset is the offset of the batch's first record.
func (b Batch) FirstOffset() record.Offset { return b.LastOffset - record.Offset(b.OffsetDelta) }

func batchOf(h *record.Header) Batch {
	return Batch{LastSequence: h.LastSequence(), LastOffset: h.LastOffset(), OffsetDelta: h.LastOffsetDelta, Timestamp: h.MaxTimestamp}
}

// entry is one producer in memory.
type entry struct {
	// batches[:count] are the newest data batches of this epoch, oldest first (PROD-2).
	batches          [maxBatches]Batch
	count            int
	epoch            record.ProducerEpoch
	coordinatorEpoch int32
	lastTimestamp    int64
	// seenMs is when this process last appended for the producer, by the log's clock; 0 after loading. It keeps
	// producers of back-dated records from expiring while they are at work.
	seenMs int64
	// txnFirstOffset is where the open transaction begins, -1 when none is open.
	txnFirstOffset record.Offset
}

// unknown is the entry of a producer of which nothing is known.
func unknown() entry {
	return entry{epoch: record.NoProducerEpoch, coordinatorEpoch: NoCoordinatorEpoch, lastTimestamp: record.NoTimestamp,
		txnFirstOffset: record.NoOffset}
}

// lastSequence is -1 when no batch of this epoch is known.
func (e *entry) lastSequence() record.Sequence {
	if e.count == 0 {
		return record.NoSequence
	}
	return e.batches[e.count-1].LastSequence
}

// setEpoch starts a new epoch, whose sequences have nothing to do with the old ones.
func (e *entry) setEpoch(epoch record.ProducerEpoch) {
	if e.epoch != epoch {
		e.epoch = epoch
		e.count = 0
	}
}

// add remembers b as the newest batch.
func (e *entry) add(b Batch) {
	if e.count == maxBatches {
		copy(e.batches[:], e.batches[1:])
		e.count--
	}
	e.batches[e.count] = b
	e.count++
	e.lastTimestamp = b.Timestamp
}

// find returns the remembered batch with exactly these sequences.
func (e *entry) find(first, last record.Sequence) (Batch, bool) {
	for i := e.count - 1; i >= 0; i-- {
		if b := e.batches[i]; b.LastSequence == last && b.FirstSequence() == first {
			return b, true
		}
	}
	return Batch{}, false
}

// snapshot reduces e to what a file holds.
func (e *entry) snapshot(id record.ProducerID) Entry {
	s := Entry{ProducerID: id, ProducerEpoch: e.epoch, LastSequence: record.NoSequence, LastOffset: record.NoOffset,
		LastTimestamp: e.lastTimestamp, CoordinatorEpoch: e.coordinatorEpoch, CurrentTxnFirstOffset: e.txnFirstOffset}
	if e.count > 0 {
		b := e.batches[e.count-1]
		s.LastSequence, s.LastOffset, s.OffsetDelta = b.LastSequence, b.LastOffset, b.OffsetDelta
	}
	return s
}

// restore is the reverse of snapshot; a file knows one batch only.
func restore(s Entry) entry {
	e := entry{epoch: s.ProducerEpoch, coordinatorEpoch: s.CoordinatorEpoch, lastTimestamp: s.LastTimestamp,
		txnFirstOffset: s.CurrentTxnFirstOffset}
	if s.LastOffset >= 0 {
		e.batches[0] = Batch{LastSequence: s.LastSequence, LastOffset: s.LastOffset, OffsetDelta: s.OffsetDelta, Timestamp: s.LastTimestamp}
		e.count = 1
	}
	return e
}
