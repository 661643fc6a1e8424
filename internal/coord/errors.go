package coord

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/producer"
)

// Why an operation was not carried out. Handlers turn them into Kafka's codes (7.1 of Kafka's group
// coordinator: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR).
var (
	// ErrLoading means that the shard still reads its partition.
	ErrLoading = errors.New("the coordinator is still reading its partition")
	// ErrNotCoordinator means that this node does not lead the partition, or can no longer write it.
	ErrNotCoordinator = errors.New("this node is not the coordinator")
	// ErrNotAvailable means that the operation may work in a moment: too few replicas, a full queue, a
	// coordinator that is shutting down, or records that were written but not committed in time.
	ErrNotAvailable = errors.New("the coordinator is not available")
	// ErrTooLarge means that the records of the operation do not fit into one batch of the partition.
	ErrTooLarge = errors.New("the operation's records do not fit into one batch")
)

// isProducerError reports whether an append was refused for what its producer is or does. Such errors go to the one
// who asked as they are.
func isProducerError(err error) bool {
	return errors.Is(err, producer.ErrInvalidProducerEpoch) || errors.Is(err, producer.ErrInvalidTxnState) ||
		errors.Is(err, producer.ErrCoordinatorFenced)
}

// appendError says what a failed append means to the one who asked. host may know more about its own errors
// than this room; it returns nil for those it does not know.
func appendError(err error, host func(error) error) error {
	if host != nil {
		if known := host(err); known != nil {
			return fmt.Errorf("%w: %w", known, err)
		}
	}
	if errors.Is(err, storage.ErrMessageTooLarge) || errors.Is(err, storage.ErrRecordListTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", ErrNotCoordinator, err)
}
