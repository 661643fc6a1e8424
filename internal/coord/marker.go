package coord

import (
	"github.com/samsalog/samsa/record"
)

// Marker is the end of a transaction on one partition: a control batch (KIP-98).
type Marker struct {
	ProducerID    record.ProducerID
	ProducerEpoch record.ProducerEpoch
	Commit        bool
	// CoordinatorEpoch is the leader epoch of the coordinator's partition. A partition refuses markers of an epoch
	// older than the newest it has seen.
	CoordinatorEpoch int32
	// TxnVersion is the transaction version that the transaction was ended with. From 2 on the marker's producer epoch
	// is above that of the data (KIP-890).
	TxnVersion int16
}

// Batch is the marker as it is appended, stamped with the time of writing.
func (m Marker) Batch(nowMs int64) record.Batch {
	kind := record.ControlAbort
	if m.Commit {
		kind = record.ControlCommit
	}
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = m.ProducerID, m.ProducerEpoch, record.NoSequence
	o.Transactional, o.Control, o.TimestampType = true, true, record.CreateTime
	b := record.NewBuilder(o)
	b.Append(nowMs, record.ControlKey(kind), record.EndTxnMarker{Type: kind, CoordinatorEpoch: m.CoordinatorEpoch}.Value(), nil)
	return b.Build()
}
