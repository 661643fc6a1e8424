package record

import "fmt"

// Offset numbers a record within its partition. Valid offsets are ≥ 0; -1 stands for "none".
type Offset int64

// NoOffset stands for an offset that is not known or does not exist.
const NoOffset Offset = -1

// LeaderEpoch counts the leaderships of a partition; -1 stands for "none".
type LeaderEpoch int32

// NoLeaderEpoch stands for a leader epoch that is not known.
const NoLeaderEpoch LeaderEpoch = -1

// ProducerID identifies an idempotent or transactional producer; -1 stands for "none".
type ProducerID int64

// NoProducerID marks a batch written without idempotence.
const NoProducerID ProducerID = -1

// ProducerEpoch fences older instances of the same producer id; -1 stands for "none".
type ProducerEpoch int16

// NoProducerEpoch marks a batch written without idempotence.
const NoProducerEpoch ProducerEpoch = -1

// Sequence numbers the records of one producer on one partition: 0 … 2^31-1, then 0 again; -1 stands for "none".
type Sequence int32

// NoSequence marks a batch that carries no sequence.
const NoSequence Sequence = -1

// Add returns s advanced by n records, wrapping from 2^31-1 to 0 (DefaultRecordBatch.incrementSequence).
func (s Sequence) Add(n int32) Sequence {
	return Sequence((int64(s) + int64(n)) & 0x7fffffff)
}

// Back returns s moved back by n records, wrapping from 0 to 2^31-1 (DefaultRecordBatch.decrementSequence).
func (s Sequence) Back(n int32) Sequence {
	return Sequence((int64(s) - int64(n)) & 0x7fffffff)
}

// TopicPartition names one partition of one topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String returns the name of the partition's directory, "<topic>-<partition>".
func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// TimestampType tells who set a batch's timestamps.
type TimestampType int8

// The timestamp types; NoTimestampType belongs to magic 0, which carries no timestamps.
const (
	NoTimestampType TimestampType = -1
	CreateTime      TimestampType = 0
	LogAppendTime   TimestampType = 1
)

// String returns the name that Kafka's tools print.
func (t TimestampType) String() string {
	switch t {
	case CreateTime:
		return "CreateTime"
	case LogAppendTime:
		return "LogAppendTime"
	default:
		return "NoTimestampType"
	}
}

// NoTimestamp is the timestamp of a record that carries none.
const NoTimestamp int64 = -1
