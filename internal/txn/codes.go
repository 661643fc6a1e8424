package txn

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
)

// code is the Kafka error of an operation that its shard did not carry out.
func code(err error) int16 {
	switch {
	case err == nil:
		return 0
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

// oldCode puts an error into the words of versions that do not know PRODUCER_FENCED (KIP-588).
func oldCode(c int16, fencedKnown bool) int16 {
	if c == kerr.ProducerFenced.Code && !fencedKnown {
		return kerr.InvalidProducerEpoch.Code
	}
	return c
}
