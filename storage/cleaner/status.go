package cleaner

import (
	"time"

	"github.com/samsalog/samsa/record"
)

// State says what is being done with a log.
type State int8

// The states.
const (
	// Idle: nothing; the log is compacted when it is dirty enough.
	Idle State = iota
	// Running: it is being compacted, or retention is at work.
	Running
	// Held: somebody changes the log, or removes it.
	Held
	// Uncleanable: a run failed. The log is left alone until the next start, since it would fail again.
	Uncleanable
)

var stateNames = [...]string{"idle", "running", "held", "uncleanable"}

// String returns a short name.
func (s State) String() string { return stateNames[s] }

// Status is how compaction of one log stands.
type Status struct {
	TopicPartition record.TopicPartition
	State          State
	// As of the last look at the log: what is clean, what is dirty and could be cleaned, what can not be yet, and the dirty
	// share of the first two.
	CleanBytes, CleanableBytes, UncleanableBytes int64
	DirtyRatio                                   float64
	// FirstDirty is up to where it is clean; FirstUncleanable up to where it could be.
	FirstDirty, FirstUncleanable record.Offset
	// Runs counts the runs that came to their end. LastRun is when the last one ended, Last what it did.
	Runs    int64
	LastRun time.Time
	Last    Stats
	// LastError is the latest error of a run or of retention, LastErrorAt when it was; nil: there was none since the start.
	LastError   error
	LastErrorAt time.Time
}

// EventKind says what happened.
type EventKind int8

// The kinds of events.
const (
	// Cleaned: a run came to its end; Stats says what it did.
	Cleaned EventKind = iota
	// Failed: a run failed and the log will be left alone until the next start.
	Failed
	// Postponed: a run failed for lack of space, and is tried again.
	Postponed
	// RetentionFailed: old segments of a compacted log could not be deleted.
	RetentionFailed
)

// Event is something that a person should hear.
type Event struct {
	Kind           EventKind
	TopicPartition record.TopicPartition
	Stats          Stats
	Err            error
}
