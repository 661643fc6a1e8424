package segment

import (
	"errors"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
)

// unbounded is the limit of an index that is made for a sealed segment: it takes what it takes.
const unbounded = 1<<31 - 1

// repair makes the indexes of a sealed segment anew from its batch headers (SEG-4). An active segment is left alone:
// its indexes belong to the writer, and were made or checked when the log was loaded.
func (s *Segment) repair(cause error) error {
	seen := s.offsets.Load()
	s.remake.Lock()
	if s.offsets.Load() != seen { // somebody else was faster
		s.remake.Unlock()
		return nil
	}
	done, path, err := s.rebuild()
	s.remake.Unlock()
	if done && s.o.Rebuilt != nil {
		s.o.Rebuilt(path, cause)
	}
	return err
}

// rebuild writes both indexes beside the old ones, which takes a while, and then swaps them in; s.remake is held.
func (s *Segment) rebuild() (done bool, path string, err error) {
	s.heal.Lock()
	offsetPath, timePath := s.path(OffsetIndexSuffix)+TmpSuffix, s.path(TimeIndexSuffix)+TmpSuffix
	active := s.active.Load()
	s.heal.Unlock()
	if active {
		return false, "", nil
	}
	offsets, err := index.CreateOffset(s.o.Handles, offsetPath, s.o.Base, unbounded)
	if err != nil {
		return false, "", err
	}
	times, err := index.CreateTime(s.o.Handles, timePath, s.o.Base, unbounded)
	if err != nil {
		return false, "", errors.Join(err, offsets.Close())
	}
	ts, off, err := s.index(offsets, times)
	if err == nil {
		err = errors.Join(offsets.Seal(), times.Seal(), offsets.Sync(), times.Sync())
	}
	if err == nil {
		done, path, err = s.swapIn(offsets, times, ts, off)
	}
	if !done {
		err = errors.Join(err, offsets.Close(), times.Close())
	}
	return done, path, err
}

// swapIn replaces the indexes by new ones, unless the segment has become active meanwhile. The directory may have moved.
func (s *Segment) swapIn(offsets *index.Offset, times *index.Time, ts int64, off record.Offset) (done bool, path string, err error) {
	s.heal.Lock()
	defer s.heal.Unlock()
	if s.active.Load() {
		return false, "", nil
	}
	for _, x := range []struct {
		suffix  string
		renamed func(string)
	}{{OffsetIndexSuffix, offsets.Renamed}, {TimeIndexSuffix, times.Renamed}} {
		if err := s.o.FS.Rename(s.path(x.suffix)+TmpSuffix, s.path(x.suffix)); err != nil {
			return false, "", err
		}
		x.renamed(s.path(x.suffix))
	}
	s.swapIndexes(offsets, times)
	s.setLargest(ts, off)
	return true, s.path(LogSuffix), nil
}

// index fills empty indexes from the batch headers, by the rule of SEG-2, and returns the largest timestamp. Bytes that
// are no batch end it: what lies behind is found by scanning, or not at all.
func (s *Segment) index(offsets *index.Offset, times *index.Time) (int64, record.Offset, error) {
	sc, err := s.Scan(0, s.Size())
	if err != nil {
		return 0, 0, err
	}
	defer sc.Close()
	ts, off, indexed := record.NoTimestamp, s.o.Base, int64(0)
	last := record.NoOffset
	for sc.Next() {
		h := sc.Header()
		if h.LastOffset() <= last || !s.Fits(h.LastOffset()) {
			break
		}
		last = h.LastOffset()
		if h.MaxTimestamp > ts {
			ts, off = h.MaxTimestamp, last
		}
		if sc.Position()-indexed <= int64(s.o.IndexInterval) {
			continue
		}
		indexed = sc.Position()
		if err := errors.Join(offsets.Append(last, index.Position(indexed)), times.Append(ts, off, false)); err != nil {
			return 0, 0, err
		}
	}
	if err := sc.Err(); err != nil && !errors.Is(err, record.ErrCorruptBatch) {
		return 0, 0, err
	}
	return ts, off, times.Append(ts, off, true)
}

// Repair makes the indexes of a sealed segment anew because of cause.
func (s *Segment) Repair(cause error) error { return s.repair(cause) }

// TxnIndexSanity checks the transaction index; an error that matches record.ErrCorruptBatch tells that it is damaged.
func (s *Segment) TxnIndexSanity() error { return s.txns.Sanity() }

// ResetTxnIndex empties the transaction index, to be filled again by AppendAborted.
func (s *Segment) ResetTxnIndex() error { return s.txns.Reset() }

// TxnIndexPath is where the transaction index is, or would be.
func (s *Segment) TxnIndexPath() string { return s.path(TxnIndexSuffix) }

// IndexSanity reads both indexes and checks that they rise and end at a whole entry.
func (s *Segment) IndexSanity() error {
	return errors.Join(s.offsets.Load().Sanity(), s.times.Load().Sanity())
}
