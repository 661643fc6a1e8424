package group

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/storage/producer"
)

// code is the Kafka error of an operation that its shard did not carry out.
func code(err error) int16 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, producer.ErrInvalidProducerEpoch):
		return kerr.InvalidProducerEpoch.Code
	case errors.Is(err, producer.ErrInvalidTxnState):
		return kerr.InvalidTxnState.Code
	case errors.Is(err, coord.ErrLoading):
		return kerr.CoordinatorLoadInProgress.Code
	case errors.Is(err, coord.ErrNotCoordinator):
		return kerr.NotCoordinator.Code
	case errors.Is(err, coord.ErrNotAvailable):
		return kerr.CoordinatorNotAvailable.Code
	default:
		return kerr.UnknownServerError.Code
	}
}

// codeOf is the number of a Kafka error; nil is 0.
func codeOf(e *kerr.Error) int16 {
	if e == nil {
		return 0
	}
	return e.Code
}
