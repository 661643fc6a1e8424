package metadata

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// replay applies batches and knows metadata transactions: what lies between BEGIN_TRANSACTION and
// END_TRANSACTION counts when the end is read, and never after an ABORT_TRANSACTION (META-3).
type replay struct {
	fold *fold
	// before is the image as it was when the open transaction began; nil when none is open.
	before *Image
}

// batch applies one batch of data records. After an error the replay must not be used, except by reset.
func (r *replay) batch(base record.Offset, epoch record.LeaderEpoch, records []stored.Message) error {
	for n, m := range records {
		if err := r.record(m); err != nil {
			return fmt.Errorf("offset %d: %w", base+record.Offset(n), err)
		}
		r.fold.img.Offset, r.fold.img.Epoch = base+record.Offset(n), epoch
	}
	return nil
}

func (r *replay) record(m stored.Message) (err error) {
	switch m.(type) {
	case *stored.BeginTransactionRecord:
		if r.before != nil {
			return invalid(m, "a transaction is open already")
		}
		r.before, err = r.fold.seal()
		return err
	case *stored.EndTransactionRecord:
		if r.before == nil {
			return invalid(m, "no transaction is open")
		}
		r.before = nil
		return nil
	case *stored.AbortTransactionRecord:
		if r.before == nil {
			return invalid(m, "no transaction is open")
		}
		r.fold.reset(r.before)
		r.before = nil
		return nil
	}
	return r.fold.apply(m)
}

// control counts a control batch, which changes no state.
func (r *replay) control(last record.Offset, epoch record.LeaderEpoch) {
	r.fold.img.Offset, r.fold.img.Epoch = last, epoch
}

// image returns the newest state outside of any open transaction.
func (r *replay) image() (*Image, error) {
	if r.before != nil {
		return r.before, nil
	}
	return r.fold.seal()
}

// tooNew adds ErrTooNew to errors about records that only a newer Kafka can have written.
func tooNew(err error) error {
	if errors.Is(err, stored.ErrUnknownRecord) || errors.Is(err, stored.ErrVersion) {
		return fmt.Errorf("%w: %w", ErrTooNew, err)
	}
	return err
}
