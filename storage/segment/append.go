package segment

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// Append writes b, whole batches with final offsets, in one write, then adds the index entries that are due: for each
// batch that begins more than interval bytes after the last indexed one (SEG-2). When there was no room
// (vfs.IsShortage) nothing has changed and the segment can be appended to again; after any other error it must not be:
// what was written lies behind Size.
func (s *Segment) Append(b []byte, interval int) error {
	pos := s.size.Load()
	if pos+int64(len(b)) > MaxSize {
		return fmt.Errorf("%s: %d bytes do not fit behind %d", s.Path(), len(b), pos)
	}
	if err := s.write(b, pos); err != nil {
		return err
	}
	for rest := b; len(rest) > 0; {
		h, err := record.ParseHeader(rest)
		if err != nil {
			return err
		}
		if err := s.note(&h, pos, interval); err != nil {
			return err
		}
		pos += int64(h.SizeInBytes)
		s.sinceIndex += int64(h.SizeInBytes)
		rest = rest[h.SizeInBytes:]
	}
	s.size.Store(pos)
	return nil
}

func (s *Segment) write(b []byte, pos int64) error {
	file, err := s.log.Acquire()
	if err != nil {
		return err
	}
	defer s.log.Release()
	// Behind the write: a Sync that ran meanwhile has not covered it.
	defer s.dirty.Store(true)
	s.unchanged.Store(false)
	if _, err = file.WriteAt(b, pos); !vfs.IsFull(err) {
		return err
	}
	// As much as there was room for was written. It must not stand behind what is appended next.
	if size, failed := file.Size(); failed != nil || size > pos {
		if failed = errors.Join(failed, file.Truncate(pos)); failed != nil {
			return fmt.Errorf("cutting an unfinished write (%v): %w", err, failed)
		}
	}
	return err
}

// note takes the batch at pos into account: largest timestamp, first timestamp, index entries.
func (s *Segment) note(h *record.Header, pos int64, interval int) error {
	if pos == 0 {
		s.firstKnown, s.firstTimestamp = true, h.MaxTimestamp
	}
	ts, off := s.raise(h.MaxTimestamp, h.LastOffset())
	if s.sinceIndex <= int64(interval) || s.Full() { // full: the next append rolls; until then the index stays sparse
		return nil
	}
	err := s.offsets.Load().Append(h.LastOffset(), index.Position(pos))
	if err == nil {
		s.sinceIndex = 0
		err = s.times.Load().Append(ts, off, false)
	}
	if vfs.IsShortage(err) {
		return nil // a sparser index leads to the same records
	}
	return err
}

// raise makes ts the largest timestamp if it is larger, and returns the largest (SEG-3).
func (s *Segment) raise(ts int64, off record.Offset) (int64, record.Offset) {
	s.largest.Lock()
	defer s.largest.Unlock()
	if ts > s.largest.ts {
		s.largest.ts, s.largest.off = ts, off
	}
	return s.largest.ts, s.largest.off
}

// Full reports whether one of the indexes can take no more entries, so that the segment must be rolled.
func (s *Segment) Full() bool { return s.offsets.Load().Full() || s.times.Load().Full() }

// AppendAborted adds an aborted transaction whose marker was just appended.
func (s *Segment) AppendAborted(t index.AbortedTxn) error { return s.txns.Append(t) }

// Waited is how old the segment is for rolling by time: what nextMaxMs is above the first batch's timestamp, or the
// time since creation if that has none. 0 while the segment is empty.
func (s *Segment) Waited(nextMaxMs, nowMs int64) (int64, error) {
	if s.size.Load() == 0 {
		return 0, nil
	}
	if !s.firstKnown {
		if err := s.readFirst(); err != nil {
			return 0, err
		}
	}
	if s.firstTimestamp >= 0 {
		return nextMaxMs - s.firstTimestamp, nil
	}
	return nowMs - s.createdMs, nil
}

// readFirst finds the first batch's timestamp in the file.
func (s *Segment) readFirst() error {
	sc, err := s.Scan(0, s.Size())
	if err != nil {
		return err
	}
	defer sc.Close()
	if sc.Next() {
		s.firstTimestamp = sc.Header().MaxTimestamp
	}
	if err := sc.Err(); err != nil && !errors.Is(err, record.ErrCorruptBatch) {
		return err
	}
	s.firstKnown = true // if it is damaged, the clock has to do
	return nil
}

// Seal ends the segment: the final time entry, indexes trimmed, the log cut to its size. It does not sync.
func (s *Segment) Seal() error {
	if s.Unchanged() {
		s.active.Store(false)
		return errors.Join(s.offsets.Load().Seal(), s.times.Load().Seal())
	}
	if err := s.SealDamaged(); err != nil {
		return err
	}
	return s.cutLog(s.Size())
}

// SealDamaged is Seal for a segment whose file goes on behind its size with bytes that must be kept.
func (s *Segment) SealDamaged() error {
	if !s.active.Load() {
		return nil
	}
	s.largest.Lock()
	ts, off := s.largest.ts, s.largest.off
	s.largest.Unlock()
	if err := s.times.Load().Append(ts, off, true); err != nil {
		return err
	}
	if err := s.offsets.Load().Seal(); err != nil {
		return err
	}
	if err := s.times.Load().Seal(); err != nil {
		return err
	}
	s.active.Store(false)
	return nil
}
