package storage

import (
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// Origin tells who appends, and so how much is checked and whether offsets are assigned.
type Origin int8

// The origins (Kafka: AppendOrigin). Client and Coordinator batches get offsets and leader epoch here; Replication and
// RaftLeader batches bring theirs.
const (
	Client Origin = iota
	Coordinator
	Replication
	RaftLeader
)

// assigns reports whether the log assigns offsets.
func (o Origin) assigns() bool { return o == Client || o == Coordinator }

// AppendOptions goes with one append.
type AppendOptions struct {
	Origin Origin
	// LeaderEpoch is stamped into batches that get their offsets here; RaftLeader batches must carry it.
	// record.NoLeaderEpoch: none. Replication: later batches of a newer epoch are dropped, if it is not -1.
	LeaderEpoch record.LeaderEpoch
	// VerificationGuard is what StartVerification returned, for batches that begin a transaction.
	VerificationGuard int64
	// TxnVersion came with an end marker.
	TxnVersion int16
}

// AppendInfo describes what was appended, or what a duplicate repeats.
type AppendInfo struct {
	FirstOffset, LastOffset record.Offset
	// LogAppendTimeMs is the time of appending under LogAppendTime, else -1. Of a duplicate it is the maximum timestamp of
	// the batch that was stored, whatever the timestamp type, as Kafka answers.
	LogAppendTimeMs int64
	// LogStartOffset is the log start at that moment.
	LogStartOffset record.Offset
	// MaxTimestamp is the largest timestamp appended, -1 none.
	MaxTimestamp int64
	Count        int32
	SizeInBytes  int
	// Duplicate: the batch was in the log already; nothing was written.
	Duplicate bool
}

// Isolation bounds what a read may see.
type Isolation int8

// The isolations: everything (followers), what is committed, what is committed and decided.
const (
	LogEnd Isolation = iota
	HighWatermark
	TxnCommitted
)

// ReadInfo is the result of a read. Whoever gets one releases the Region.
type ReadInfo struct {
	Region vfs.Region
	// FirstOffset is the base offset of the first batch in Region; the requested offset when Region is empty.
	FirstOffset record.Offset
	// The offsets as they were before reading.
	HighWatermark, LastStableOffset, LogStartOffset, LogEndOffset record.Offset
	// Aborted are the aborted transactions that overlap what was read; non-nil for TxnCommitted only.
	Aborted []index.AbortedTxn
}

// Offsets are the bounds of a log at one moment (LOG-1).
type Offsets struct {
	LogStartOffset, LastStableOffset, HighWatermark, LogEndOffset record.Offset
}

// TimestampOffset is where a timestamp was found.
type TimestampOffset struct {
	Timestamp int64
	Offset    record.Offset
	// LeaderEpoch is that of the batch, -1 if it has none.
	LeaderEpoch record.LeaderEpoch
}

// SegmentInfo describes one segment.
type SegmentInfo struct {
	BaseOffset record.Offset
	// NextBaseOffset is the base of the following segment, the log end offset for the active one.
	NextBaseOffset record.Offset
	SizeInBytes    int64
	Path           string
	ModTime        time.Time
	Active         bool
}
