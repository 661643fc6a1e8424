package cli

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// hintedError is an error together with what the person can do about it.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

func withHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hintedError{err: err, hint: fmt.Sprintf(format, args...)}
}

// hintOf returns what a person can do about err, or "".
func hintOf(err error) string {
	var hinted *hintedError
	if errors.As(err, &hinted) {
		return hinted.hint
	}
	var code *kerr.Error
	if errors.As(err, &code) {
		return hintOfCode(code)
	}
	switch {
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, context.DeadlineExceeded):
		return "The broker did not answer in time. Look at its log, or give it longer with --timeout."
	default:
		return ""
	}
}

// hintOfCode says what to do about the error codes that people meet.
func hintOfCode(code *kerr.Error) string {
	switch code.Code {
	case kerr.UnknownTopicOrPartition.Code:
		return `"samsa topics list" shows the topics there are, "samsa topics create" makes one.`
	case kerr.TopicAlreadyExists.Code:
		return "Leave out the creation, or use --if-not-exists to accept the topic that is there."
	case kerr.InvalidReplicationFactor.Code:
		return "The replication factor cannot exceed the number of brokers; leave it out to use the broker's default."
	case kerr.InvalidPartitions.Code:
		return "The number of partitions can grow but never shrink."
	case kerr.InvalidTopicException.Code:
		return "A topic's name has up to 249 characters, of a-z, A-Z, 0-9, '.', '_' and '-', and is neither '.' nor '..'."
	case kerr.MessageTooLarge.Code:
		return "Raise the topic's limit: samsa topics alter TOPIC --config max.message.bytes=BYTES."
	case kerr.NonEmptyGroup.Code:
		return "Stop the group's members first; they keep it alive."
	case kerr.GroupIDNotFound.Code:
		return `"samsa groups list" shows the groups there are.`
	case kerr.InvalidRecord.Code:
		return "A compacted topic takes no record without a key: see --key-separator."
	default:
		return ""
	}
}

// unreachable turns a failed first contact into an error that says where was looked.
func unreachable(bootstrap string, err error) error {
	text := fmt.Errorf("no broker answers at %s: %w", bootstrap, rootCause(err))
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return withHint(text, "Start one with \"samsa serve\", or name another with --bootstrap HOST:PORT.")
	}
	return withHint(text, "Is that really the plain Kafka port of a broker?")
}

// rootCause unwraps the client's layers, whose texts repeat the address.
func rootCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// codedError is an error code with the broker's own words, which say more than the code's text.
type codedError struct {
	code    error
	message string
}

func (e *codedError) Error() string {
	var code *kerr.Error
	if errors.As(e.code, &code) {
		return e.message + " (" + code.Message + ")"
	}
	return e.message + " (" + e.code.Error() + ")"
}

func (e *codedError) Unwrap() error { return e.code }

// codeError joins an error code with the message that came with it, if one did.
func codeError(err error, message string) error {
	var code *kerr.Error
	if err == nil || message == "" || errors.As(err, &code) && message == code.Description {
		return err
	}
	return &codedError{code: err, message: message}
}
