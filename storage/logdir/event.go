package logdir

import (
	"fmt"
	"strings"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/cleaner"
)

// EventKind says what happened.
type EventKind int8

// The kinds of events.
const (
	// Loading: a directory is being loaded; Count logs, Clean as it was left.
	Loading EventKind = iota
	// Loaded: all logs of a directory are open.
	Loaded
	// LogEvent: something about one log; Log tells what.
	LogEvent
	// Ignored: an entry of a directory that is not understood was left alone. Apache Kafka refuses to start.
	Ignored
	// StrayFound: a partition that no metadata knows was set aside under the name in Path.
	StrayFound
	// FutureFound: the unfinished copy of a move between directories was left alone.
	FutureFound
	// MoveResumed: the unfinished copy of a move between directories was found and is completed.
	MoveResumed
	// Moved: a partition lies in another directory now.
	Moved
	// RemovalResumed: a directory that was being deleted will be removed.
	RemovalResumed
	// CheckpointUnreadable: a checkpoint is malformed and counts as empty: logs are checked from their begin.
	CheckpointUnreadable
	// PartitionFailed: a partition could not be loaded; its directory was left as it is.
	PartitionFailed
	// DirFailed: a directory is offline until the next start.
	DirFailed
	// DirFull: something could not be written for want of room; Bytes are free. It is told once until there is room.
	DirFull
	// DirRoom: there is room again.
	DirRoom
	// Progress: a directory is still being loaded; Load says how far. At most one a second.
	Progress
	// Compacted: a log was compacted; Compaction says what that did.
	Compacted
	// CompactionFailed: a log could not be compacted and is left alone until the next start.
	CompactionFailed
	// CompactionPostponed: there was no space for compacting a log; it is tried again.
	CompactionPostponed
	// TaskFailed: a background task had an error with one partition or file, and went on.
	TaskFailed
)

// Event is something that a person should hear.
type Event struct {
	Kind EventKind
	// Dir is the log directory, Path the entry concerned, if any.
	Dir, Path      string
	TopicPartition record.TopicPartition
	// Task names the background task of TaskFailed.
	Task  string
	Count int
	Clean bool
	// Bytes is what is free, Biggest names the biggest topics, of DirFull and DirRoom.
	Bytes   int64
	Biggest string
	// Load is how far Progress is.
	Load *LoadProgress
	// Log is set for LogEvent.
	Log *storage.Event
	// Compaction is set for Compacted.
	Compaction *cleaner.Stats
	Err        error
}

// String is a sentence for a log line: what happened, to what, what was done about it.
func (e Event) String() string {
	if e.Kind == LogEvent && e.Log != nil {
		return e.Log.String()
	}
	var s strings.Builder
	switch e.Kind {
	case Loading:
		how := "it was closed in order"
		if !e.Clean {
			how = "it was not closed in order, the ends of its logs are checked"
		}
		fmt.Fprintf(&s, "%s: loading %d logs; %s", e.Dir, e.Count, how)
	case Loaded:
		fmt.Fprintf(&s, "%s: loaded %d logs", e.Dir, e.Count)
	case Ignored:
		fmt.Fprintf(&s, "%s: left alone, it is not a partition's directory", e.Path)
	case StrayFound:
		fmt.Fprintf(&s, "%v belongs to no topic that this broker hosts and was set aside as %s; remove it when nobody misses it", e.TopicPartition, e.Path)
	case FutureFound:
		fmt.Fprintf(&s, "%s: the unfinished copy of a move between directories was left alone", e.Path)
	case MoveResumed:
		fmt.Fprintf(&s, "%s: the copy that a move of %v had begun goes on", e.Path, e.TopicPartition)
	case Moved:
		fmt.Fprintf(&s, "%v lies in %s now", e.TopicPartition, e.Dir)
	case RemovalResumed:
		fmt.Fprintf(&s, "%s: was being deleted and will be removed", e.Path)
	case CheckpointUnreadable:
		fmt.Fprintf(&s, "%s counts as empty, logs are checked from their begin", e.Path)
	case PartitionFailed:
		fmt.Fprintf(&s, "%v could not be loaded and is offline; %s was left as it is", e.TopicPartition, e.Path)
	case DirFailed:
		fmt.Fprintf(&s, "log directory %s failed and is offline until the next start; its partitions answer storage errors, others go on", e.Dir)
	case DirFull:
		fmt.Fprintf(&s, "log directory %s has no room (%d bytes are free): producers are refused for the time being, consumers and deletions go on", e.Dir, e.Bytes)
		if e.Biggest != "" {
			fmt.Fprintf(&s, "; the biggest topics are %s", e.Biggest)
		}
	case DirRoom:
		fmt.Fprintf(&s, "log directory %s has room again (%d bytes are free)", e.Dir, e.Bytes)
	case Progress:
		s.WriteString(e.Load.String())
	case Compacted:
		fmt.Fprintf(&s, "%v: %v", e.TopicPartition, e.Compaction)
	case CompactionFailed:
		fmt.Fprintf(&s, "%v could not be compacted and keeps growing until the next start; its records are as they were, other logs go on", e.TopicPartition)
	case CompactionPostponed:
		fmt.Fprintf(&s, "%v could not be compacted for lack of space; nothing was changed, it is tried again", e.TopicPartition)
	case TaskFailed:
		fmt.Fprintf(&s, "%s of %v failed; others go on", e.Task, e.TopicPartition)
		if e.Path != "" {
			fmt.Fprintf(&s, " (%s)", e.Path)
		}
	}
	if e.Err != nil {
		fmt.Fprintf(&s, ": %v", e.Err)
	}
	return s.String()
}
