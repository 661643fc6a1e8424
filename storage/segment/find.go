package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// Location is where a batch lies.
type Location struct {
	Header   record.Header
	Position int64
}

// errIndex marks a lookup that the log contradicts (SEG-4).
var errIndex = errors.New("index contradicts the log")

// Find returns the first batch in the first end bytes whose last offset is ≥ target; false if there is none.
func (s *Segment) Find(target record.Offset, end int64) (Location, bool, error) {
	loc, ok, err := s.find(target, end)
	if err == nil || !wrongIndex(err) {
		return loc, ok, err
	}
	if err := s.repair(err); err != nil {
		return Location{}, false, err
	}
	loc, ok, err = s.find(target, end)
	if err != nil && wrongIndex(err) { // the index of an active segment is the writer's: do without
		return s.findFrom(0, s.o.Base, target, end)
	}
	return loc, ok, err
}

// Contradicts reports whether err says that an index is missing or wrong, and nothing about the log.
func Contradicts(err error) bool { return err != nil && wrongIndex(err) }

// wrongIndex tells errors that say something about the index from those about the log.
func wrongIndex(err error) bool {
	return errors.Is(err, errIndex) || errors.Is(err, fs.ErrNotExist)
}

// asIndexError wraps what an index lookup returned, unless it says that the segment is gone.
func asIndexError(err error) error {
	if err == nil || errors.Is(err, fs.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", errIndex, err)
}

// lookup asks the offset index, again if it was replaced meanwhile.
func (s *Segment) lookup(target record.Offset) (record.Offset, index.Position, error) {
	for {
		x := s.offsets.Load()
		off, pos, err := x.Lookup(target)
		if errors.Is(err, fs.ErrClosed) && s.offsets.Load() != x {
			continue
		}
		return off, pos, asIndexError(err)
	}
}

func (s *Segment) find(target record.Offset, end int64) (Location, bool, error) {
	off, pos, err := s.lookup(target)
	if err != nil {
		return Location{}, false, err
	}
	if int64(pos) >= s.Size() && pos > 0 {
		return Location{}, false, fmt.Errorf("%w: position %d of offset %d is behind the end, %d", errIndex, pos, off, s.Size())
	}
	return s.findFrom(int64(pos), off, target, end)
}

// findFrom scans from pos, which the index gives for off.
func (s *Segment) findFrom(pos int64, off, target record.Offset, end int64) (Location, bool, error) {
	sc, err := s.Scan(pos, end)
	if err != nil {
		return Location{}, false, err
	}
	defer sc.Close()
	for sc.Next() {
		h := sc.Header()
		if err := s.checkEntry(sc, pos, off); err != nil {
			return Location{}, false, err
		}
		if h.LastOffset() < target {
			continue
		}
		if h.BaseOffset > target && sc.Skipped() != nil {
			return Location{}, false, sc.Skipped() // it was in there, or it is in a gap: who can tell
		}
		return Location{Header: *h, Position: sc.Position()}, true, nil
	}
	if err := sc.Err(); err != nil && pos > 0 && sc.End() == pos && errors.Is(err, record.ErrCorruptBatch) {
		return Location{}, false, fmt.Errorf("%w: %w", errIndex, err)
	}
	return Location{}, false, sc.Err()
}

// checkEntry compares the batch that an index entry (off, pos) leads to, if that is sc's current one, with the entry. In a
// segment of 4.4 it ends at off; the entries of older releases stand for chunks, whose first batch may end before.
func (s *Segment) checkEntry(sc *Scanner, pos int64, off record.Offset) error {
	h := sc.Header()
	if pos == 0 || sc.Position() != pos || h.BaseOffset >= s.o.Base && h.LastOffset() <= off {
		return nil
	}
	return fmt.Errorf("%w: position %d of offset %d holds offsets %d to %d", errIndex, pos, off, h.BaseOffset, h.LastOffset())
}

// Boundary returns the largest batch boundary in from … to, where from is one. It costs two index lookups and a short
// scan. Where the log cannot be read it returns to: whoever parses the bytes meets the damage.
func (s *Segment) Boundary(from, to int64) (int64, error) {
	start := from
	if to <= math.MaxInt32 {
		x := s.offsets.Load()
		before := record.Offset(math.MaxInt64)
		if next, ok, err := x.UpperBound(index.Position(to), 0); err == nil && ok {
			before = next - 1
		}
		if _, pos, err := x.Lookup(before); err == nil && int64(pos) > from && int64(pos) <= to {
			start = int64(pos)
		}
	}
	sc, err := s.Scan(start, to)
	if err != nil {
		return 0, err
	}
	defer sc.Close()
	for sc.Next() {
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, record.ErrCorruptBatch) {
			return to, nil
		}
		return 0, err
	}
	return sc.End(), nil
}

// UpperBound returns an offset that no record in the bytes bytes from pos on reaches; false if the index knows none.
func (s *Segment) UpperBound(pos int64, bytes int) (record.Offset, bool) {
	off, ok, err := s.offsets.Load().UpperBound(index.Position(pos), bytes)
	return off, ok && err == nil
}

// Aborted returns the aborted transactions that overlap from … to-1 and whose marker is in this segment; complete
// means that later segments need not be asked.
func (s *Segment) Aborted(from, to record.Offset) (list []index.AbortedTxn, complete bool, err error) {
	return s.txns.Collect(from, to)
}

// NextOffset is the offset after the last batch: found by reading from the last index entry to the end. end is where
// that batch ends; bytes behind it are no whole batch.
func (s *Segment) NextOffset() (next record.Offset, end int64, err error) {
	off, pos, err := s.lookup(math.MaxInt64)
	if err != nil {
		return 0, 0, err
	}
	next = s.o.Base
	sc, err := s.Scan(int64(pos), s.Size())
	if err != nil {
		return 0, 0, err
	}
	defer sc.Close()
	for sc.Next() {
		h := sc.Header()
		if err := s.checkEntry(sc, int64(pos), off); err != nil {
			return 0, 0, err
		}
		next = h.LastOffset() + 1
	}
	if sc.Skipped() != nil {
		return 0, 0, sc.Skipped()
	}
	if sc.Err() == nil && pos > 0 && sc.End() == int64(pos) {
		return 0, 0, fmt.Errorf("%w: no batch at position %d of offset %d", errIndex, pos, off)
	}
	return next, sc.End(), sc.Err()
}

// Back returns the position of the index entry that is n entries before offset o, 0 when there are fewer.
func (s *Segment) Back(o record.Offset, n int) (int64, error) {
	pos := index.Position(0)
	for ; n > 0; n-- {
		var err error
		if o, pos, err = s.lookup(o - 1); err != nil || pos == 0 {
			return 0, err
		}
	}
	return int64(pos), nil
}

// Trusted returns where recovery may begin in a segment that contains recovery point rp: the position of the first batch that
// reaches up to rp, and the smallest offset that can stand there. ok is false when the indexes, which lead there, look
// like those of a crash: zero padding of Kafka's, or of a file system after power loss.
func (s *Segment) Trusted(rp record.Offset) (pos int64, next record.Offset, ok bool) {
	if s.offsets.Load().TailSanity() != nil || s.times.Load().TailSanity() != nil {
		return 0, 0, false
	}
	off, at, err := s.lookup(rp - 1)
	if err != nil || at > 0 && int64(at) >= s.Size() {
		return 0, 0, false
	}
	sc, err := s.Scan(int64(at), s.Size())
	if err != nil {
		return 0, 0, false
	}
	defer sc.Close()
	next = s.o.Base
	for sc.Next() {
		h := sc.Header()
		if s.checkEntry(sc, int64(at), off) != nil {
			return 0, 0, false
		}
		if h.LastOffset() >= rp {
			return sc.Position(), min(rp, h.BaseOffset), true
		}
		next = h.LastOffset() + 1
	}
	return sc.End(), next, next > s.o.Base || at == 0
}

// EndOf returns the offset after the last batch in a `.log` of size bytes that goes by another name.
func EndOf(log *vfs.Handle, base record.Offset, size int64) (record.Offset, error) {
	s := &Segment{o: Options{Base: base}}
	s.upper.Store(math.MaxInt64)
	s.setLog(log)
	sc, err := s.Scan(0, size)
	if err != nil {
		return 0, err
	}
	defer sc.Close()
	next := base
	for sc.Next() {
		next = sc.Header().NextOffset()
	}
	return next, sc.Err()
}
