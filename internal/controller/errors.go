package controller

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/storage"
)

// Error is a refusal as clients see it.
type Error struct {
	Code *kerr.Error
	// Message is for a person; "" where Kafka sends null.
	Message string
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.Message
	}
	return e.Code.Message + ": " + e.Message
}

// Unwrap makes errors.Is(err, kerr.X) work.
func (e *Error) Unwrap() error { return e.Code }

func refuse(code *kerr.Error, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// asError turns any error into what a client sees of it: a failed disk is no fault of the request.
func asError(err error) *Error {
	var e *Error
	var k *kerr.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &k):
		return &Error{Code: k}
	case errors.Is(err, storage.ErrStorage): // clients try again: the disk may only be full
		return &Error{kerr.KafkaStorageError, err.Error()}
	}
	return &Error{kerr.UnknownServerError, err.Error()}
}

// code and message are the two fields of a response; both work for nil.
func (e *Error) code() int16 {
	if e == nil {
		return 0
	}
	return e.Code.Code
}

func (e *Error) message() *string {
	if e == nil || e.Message == "" {
		return nil
	}
	return &e.Message
}

// Wire is the error as two fields of a response, for those that have no others; it works for nil.
func (e *Error) Wire() (code int16, message *string) { return e.code(), e.message() }
