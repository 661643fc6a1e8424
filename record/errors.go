package record

import (
	"errors"
	"fmt"
)

// What can be wrong with a batch. Callers compare with errors.Is.
var (
	// ErrShort: there are not enough bytes yet to tell; more may come.
	ErrShort = errors.New("not enough bytes")
	// ErrCorruptBatch: the bytes are no batch, or not the batch that was written (size, magic, CRC).
	ErrCorruptBatch = errors.New("corrupt record batch")
	// ErrInvalidRecord: a batch or record breaks a rule that a well-behaved producer keeps.
	ErrInvalidRecord = errors.New("invalid record")
	// ErrInvalidTimestamp: a record's timestamp is outside of what the topic accepts.
	ErrInvalidTimestamp = errors.New("invalid timestamp")
	// ErrUnsupportedCodec: a codec that is unknown, or not allowed where it was asked for.
	ErrUnsupportedCodec = errors.New("unsupported compression codec")
	// ErrDecompress: a compressed payload that its codec cannot read, or codec bits 5 to 7 in a batch.
	ErrDecompress = errors.New("cannot decompress")
	// ErrBatchTooLarge: the batch is, or became by recompression, larger than Validation.MaxBatchBytes.
	ErrBatchTooLarge = errors.New("record batch too large")
	// ErrUnknownControlRecord: a control record's key cannot be read.
	ErrUnknownControlRecord = errors.New("unreadable control record")
)

// CorruptError says where corrupt bytes are. It matches ErrCorruptBatch.
type CorruptError struct {
	// File is the path, "" for bytes that are not in a file.
	File string
	// Position is the byte position in File, or in the slice that was read; -1 unknown.
	Position int64
	// Offset is the record offset that the bytes claim or should hold; -1 unknown.
	Offset Offset
	// Reason is a short clause, for example "CRC is 1234, should be 99".
	Reason string
}

func (e *CorruptError) Error() string {
	s := "corrupt"
	if e.File != "" {
		s = e.File + ": corrupt"
	}
	if e.Position >= 0 {
		s += fmt.Sprintf(" at byte %d", e.Position)
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf(" (offset %d)", e.Offset)
	}
	return s + ": " + e.Reason
}

// Is makes every CorruptError match ErrCorruptBatch.
func (e *CorruptError) Is(target error) bool { return target == ErrCorruptBatch }

// RecordError is what is wrong with one record of a batch.
type RecordError struct {
	// Index counts from 0 within the batch.
	Index int32
	// Message is in Kafka's words, as clients show them.
	Message string
}

// RecordsError lists every record of a batch that was refused.
type RecordsError struct {
	// Err is ErrInvalidRecord or ErrInvalidTimestamp; the latter wins when both occur.
	Err error
	// Records has one entry for each bad record, in order.
	Records []RecordError
	// Message is the summary in Kafka's words.
	Message string
}

func (e *RecordsError) Error() string { return e.Message }

// Unwrap returns Err.
func (e *RecordsError) Unwrap() error { return e.Err }

// corrupt is a CorruptError without place.
func corrupt(offset Offset, format string, args ...any) error {
	return &CorruptError{Position: -1, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// invalid wraps ErrInvalidRecord with a reason.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidRecord, fmt.Sprintf(format, args...))
}
