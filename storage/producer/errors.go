package producer

import "errors"

// Why a batch is refused. Callers compare with errors.Is.
var (
	// ErrOutOfOrderSequence: the batch does not follow the producer's last one, nor does it repeat one of the last five.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidProducerEpoch: a newer instance of the producer has written since.
	ErrInvalidProducerEpoch = errors.New("invalid producer epoch")
	// ErrInvalidTxnState: a transactional batch that was not verified with the coordinator, or a plain batch of a
	// producer whose transaction is open here.
	ErrInvalidTxnState = errors.New("invalid transaction state")
	// ErrCoordinatorFenced: an end marker of a coordinator that has been replaced.
	ErrCoordinatorFenced = errors.New("transaction coordinator fenced")
)
