package coordinator

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
)

// fault is the Kafka error of an operation that its shard did not carry out; nil if it did.
func fault(err error) *kerr.Error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, coord.ErrLoading):
		return kerr.CoordinatorLoadInProgress
	case errors.Is(err, coord.ErrNotCoordinator):
		return kerr.NotCoordinator
	case errors.Is(err, coord.ErrNotAvailable):
		return kerr.CoordinatorNotAvailable
	default:
		return kerr.UnknownServerError
	}
}

// told is an error as an answer has it.
func told(e *kerr.Error) (code int16, message *string) {
	if e == nil {
		return 0, nil
	}
	text := e.Description
	return e.Code, &text
}
