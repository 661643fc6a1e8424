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
	if s.active.Load() {
		return nil
	}
	s.heal.Lock()
	path := s.path(LogSuffix)
	err := s.rebuildLocked()
	s.heal.Unlock()
	if err == nil && s.o.Rebuilt != nil {
		s.o.Rebuilt(path, cause)
	}
	return err
}

// rebuildLocked writes both indexes beside the old ones and swaps them in; s.heal is held.
func (s *Segment) rebuildLocked() error {
	if s.active.Load() {
		return nil
	}
	offsets, err := index.CreateOffset(s.o.Handles, s.path(OffsetIndexSuffix)+TmpSuffix, s.o.Base, unbounded)
	if err != nil {
		return err
	}
	times, err := index.CreateTime(s.o.Handles, s.path(TimeIndexSuffix)+TmpSuffix, s.o.Base, unbounded)
	if err != nil {
		return errors.Join(err, offsets.Close())
	}
	ts, off, err := s.index(offsets, times)
	if err == nil {
		err = errors.Join(offsets.Seal(), times.Seal(), offsets.Sync(), times.Sync())
	}
	if err != nil {
		return errors.Join(err, offsets.Close(), times.Close())
	}
	for suffix, renamed := range map[string]func(string){OffsetIndexSuffix: offsets.Renamed, TimeIndexSuffix: times.Renamed} {
		if err := s.o.FS.Rename(s.path(suffix)+TmpSuffix, s.path(suffix)); err != nil {
			return errors.Join(err, offsets.Close(), times.Close())
		}
		renamed(s.path(suffix))
	}
	s.swapIndexes(offsets, times)
	s.setLargest(ts, off)
	return nil
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
