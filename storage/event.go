package storage

import (
	"fmt"
	"time"

	"github.com/samsalog/samsa/record"
)

// EventKind says what happened.
type EventKind int8

// The kinds of events. Those up to IndexRebuilt cost no records; the others do, or may have.
const (
	// Recovering: the log was not closed in order; From is where reading begins, Bytes how much there is.
	Recovering EventKind = iota
	// LeftoverRemoved: a file of an operation that a crash interrupted was removed.
	LeftoverRemoved
	// SnapshotDiscarded: a producer snapshot could not be read; an older one is used and the log replayed.
	SnapshotDiscarded
	// IndexRebuilt: an index was missing or wrong and was made anew from the log. No record was touched.
	IndexRebuilt
	// TailCut: Bytes after the last whole batch were cut, at or above the recovery point.
	TailCut
	// SegmentsDropped: a segment was removed before which records are missing, or a log that ends before its log start.
	SegmentsDropped
	// DamageKept: bytes below the recovery point cannot be read. They were left as they are.
	DamageKept
	// Refused: something was not written because there was no room or no descriptor; Err tells what. It comes with every
	// refusal.
	Refused
	// RetentionHeld: a timestamp in the future, Until, keeps the oldest segment, and with it all others, from expiring.
	RetentionHeld
)

var eventNames = [...]string{
	"recovering", "leftover removed", "snapshot discarded", "index rebuilt", "tail cut", "segment dropped", "damage kept",
	"refused", "retention held",
}

// String returns a short name.
func (k EventKind) String() string {
	if k < 0 || int(k) >= len(eventNames) {
		return fmt.Sprintf("event %d", int8(k))
	}
	return eventNames[k]
}

// Event is something that a person should hear about a log.
type Event struct {
	Kind           EventKind
	TopicPartition record.TopicPartition
	// File is the path of the file concerned, "" for the whole log.
	File string
	// Position and Bytes are a range of File; From and To are a range of offsets, To exclusive. -1 where unknown.
	Position, Bytes int64
	From, To        record.Offset
	// Until is the timestamp of RetentionHeld.
	Until time.Time
	// Err is the cause, if any.
	Err error
}

// String is a sentence for a log line: what happened, to which file, what was done about it.
func (e Event) String() string {
	s := fmt.Sprintf("%v: %s", e.TopicPartition, e.what())
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e Event) what() string {
	switch e.Kind {
	case Recovering:
		return fmt.Sprintf("not closed in order, recovering from offset %d (%d bytes)", e.From, e.Bytes)
	case LeftoverRemoved:
		return fmt.Sprintf("removed %s, left over by an interrupted operation", e.File)
	case SnapshotDiscarded:
		return fmt.Sprintf("producer snapshot %s is unreadable and was removed; the state is rebuilt from an older one and the log", e.File)
	case IndexRebuilt:
		return fmt.Sprintf("index %s was rebuilt from the log; no records were touched", e.File)
	case TailCut:
		return fmt.Sprintf("cut %d bytes of an unfinished write at byte %d of %s, offset %d", e.Bytes, e.Position, e.File, e.From)
	case SegmentsDropped:
		return fmt.Sprintf("dropped %s (%d bytes, from offset %d): records before it are missing, or it ends before the log start",
			e.File, e.Bytes, e.From)
	case DamageKept:
		return fmt.Sprintf("offsets %d to %d cannot be read: %d damaged bytes at byte %d of %s were left as they are",
			e.From, e.To, e.Bytes, e.Position, e.File)
	case Refused:
		return "not written"
	case RetentionHeld:
		return fmt.Sprintf("retention.ms deletes nothing, since the oldest segment %s (%d bytes, offsets %d to %d) has a record of the future: its "+
			"timestamp is %s; DeleteRecords up to offset %d would let it go", e.File, e.Bytes, e.From, e.To-1, e.Until.UTC().Format(time.RFC3339), e.To)
	}
	return e.Kind.String() + " " + e.File
}
