package coord

import (
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// Partition is the partition a shard stands on, while this node leads it.
type Partition interface {
	// Append writes one batch with acks=all semantics and patches it in place; the batch is borrowed. The
	// records may become committed later than it returns.
	Append(batch []byte, o storage.AppendOptions) (storage.AppendInfo, error)
	// Log is what the shard is read from; nil while the partition's directory is offline.
	Log() *storage.Log
	// LeaderEpoch is the epoch in which this node leads the partition.
	LeaderEpoch() record.LeaderEpoch
}

// Machine is the state of one shard. All methods are called from the shard's goroutine (COORD-1).
type Machine interface {
	// Replay applies one record that stands in the log. An error means that the partition cannot be
	// understood: the shard is not served. Key and Value are lent until it returns.
	Replay(r Replayed) error
	// ReplayMarker applies the end of a transaction of a producer.
	ReplayMarker(id record.ProducerID, commit bool)
	// Loaded is called once, when all records that the partition held have been replayed.
	Loaded() Result
	// Unloaded is called last: whoever still waits for an answer gets it now.
	Unloaded()
}

// Replayed is one record as it stands in the log.
type Replayed struct {
	Offset record.Offset
	// ProducerID is that of the transaction the record belongs to; -1 outside of transactions.
	ProducerID record.ProducerID
	Key        []byte
	// Value is nil for a tombstone.
	Value []byte
}

// Record is a record to be written.
type Record struct {
	Key []byte
	// Value is nil for a tombstone.
	Value []byte
}

// Result is what an operation leaves to be done.
type Result struct {
	// Records are written in this order, in one batch unless Divisible.
	Records []Record
	// Txn makes the batch part of a producer's transaction; nil: it is the coordinator's own.
	Txn *Txn
	// Marker is written instead of Records: the end of a transaction on this partition.
	Marker *Marker
	// Divisible allows the records to be spread over several batches when they are too many for one: each is
	// right by itself.
	Divisible bool
	// Applied means that the machine has already taken the records into its state, so that they are not
	// replayed when they are written.
	Applied bool
	// Done is called with nil when the records are committed, else with the reason why they are not (COORD-4).
	// It may leave more to be done. nil when nobody wants to know.
	Done func(error) Result
}

// Txn is the transaction that records belong to.
type Txn struct {
	ProducerID    record.ProducerID
	ProducerEpoch record.ProducerEpoch
	// Guard is what Runtime.StartVerification gave out, if the transaction begins here.
	Guard int64
}

// None is the Result of an operation that leaves nothing to do.
func None() Result { return Result{} }

// After is a Result without records: f runs once everything written before is committed.
func After(f func(error)) Result {
	return Result{Done: func(err error) Result { f(err); return Result{} }}
}

// Op is one operation on a machine.
type Op[M Machine] struct {
	// Run looks at the machine, changes it, and says what is to be written.
	Run func(m M) Result
	// Fail is called instead of Run when the shard goes away before it comes to the operation. It must not wait.
	Fail func(error)
	// Shares says that the operation neither looks at nor overwrites what operations before it have written and
	// not yet applied, so that all may stand in one batch (COORD-5).
	Shares bool
	// Patient operations wait for a shard that is still being read instead of being refused.
	Patient bool
}
