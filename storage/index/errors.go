package index

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/record"
)

// Position is a byte position in a segment's .log: 0 … 2^31-1.
type Position int32

// Relative is an offset less the segment's base offset: 0 … 2^31-1.
type Relative int32

// What an index refuses. Callers compare with errors.Is.
var (
	// ErrFull: the index holds as many entries as its limit allows. The segment should have been rolled.
	ErrFull = errors.New("index full")
	// ErrOutOfOrder: the entry would break the order of the index (IDX-1).
	ErrOutOfOrder = errors.New("index entry out of order")
	// ErrOffsetOverflow: the offset is below the base or more than 2^31-1 above it (IDX-2).
	ErrOffsetOverflow = errors.New("offset does not fit the segment")
	// ErrSealed: the index is immutable.
	ErrSealed = errors.New("index is sealed")
)

// relative returns off relative to base, if it fits.
func relative(base, off record.Offset) (Relative, error) {
	rel := int64(off) - int64(base)
	if rel < 0 || rel > 1<<31-1 {
		return 0, fmt.Errorf("%w: offset %d, base %d", ErrOffsetOverflow, off, base)
	}
	return Relative(rel), nil
}

// corrupt describes damage at an entry.
func (t *table) corrupt(entry int, format string, args ...any) error {
	return &record.CorruptError{
		File: t.Path(), Position: int64(entry) * int64(t.size), Offset: record.NoOffset, Reason: fmt.Sprintf(format, args...),
	}
}
