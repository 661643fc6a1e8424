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
	// RemovalResumed: a directory that was being deleted will be removed.
	RemovalResumed
	// CheckpointUnreadable: a checkpoint is malformed and counts as empty: logs are checked from their begin.
	CheckpointUnreadable
	// PartitionFailed: a partition could not be loaded; its directory was left as it is.
	PartitionFailed
	// DirFailed: a directory is offline until the next start.
	DirFailed
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
	case RemovalResumed:
		fmt.Fprintf(&s, "%s: was being deleted and will be removed", e.Path)
	case CheckpointUnreadable:
		fmt.Fprintf(&s, "%s counts as empty, logs are checked from their begin", e.Path)
	case PartitionFailed:
		fmt.Fprintf(&s, "%v could not be loaded and is offline; %s was left as it is", e.TopicPartition, e.Path)
	case DirFailed:
		fmt.Fprintf(&s, "log directory %s failed and is offline until the next start; its partitions answer storage errors, others go on", e.Dir)
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
