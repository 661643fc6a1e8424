package storage

import (
	"errors"
	"fmt"
)

// What a Log refuses. Callers compare with errors.Is. Batches that break a rule are refused with the errors of
// package record, producers with those of package producer.
var (
	// ErrOffsetOutOfRange: the offset is below the log start or above what may be asked for.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrMessageTooLarge: a batch is larger than max.message.bytes.
	ErrMessageTooLarge = errors.New("record batch larger than max.message.bytes")
	// ErrRecordListTooLarge: the append is larger than a segment.
	ErrRecordListTooLarge = errors.New("append larger than segment.bytes")
	// ErrStorage: reading, writing or fsyncing failed; the cause is wrapped. After a failed write or fsync every
	// further change fails with it (LOG-4).
	ErrStorage = errors.New("storage error")
	// ErrShortage: the disk has no room, or the process no descriptor. Nothing that was there before is in doubt, the log
	// is not latched, and the same call can succeed later. It is a storage error too.
	ErrShortage error = shortageError{}
	// ErrClosed: the Log was closed, abandoned or deleted.
	ErrClosed = errors.New("log is closed")
	// ErrInconsistentTopicID: the directory belongs to another incarnation of the topic.
	ErrInconsistentTopicID = errors.New("inconsistent topic id")
	// ErrOutOfOrderAppend: batches with given offsets that do not follow each other, or begin below the log end.
	ErrOutOfOrderAppend = errors.New("offsets out of order")
)

// shortageError is the type of ErrShortage.
type shortageError struct{}

func (shortageError) Error() string        { return "nothing left to write with" }
func (shortageError) Is(target error) bool { return target == ErrStorage }

// storageError wraps a cause that the file system reported.
func storageError(cause error) error {
	if cause == nil || errors.Is(cause, ErrStorage) || errors.Is(cause, ErrClosed) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrStorage, cause)
}
