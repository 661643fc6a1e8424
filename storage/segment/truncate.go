package segment

import (
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// Activate makes a segment that was opened the one that is appended to. Its largest timestamp must be readable; nothing
// else is read, and nothing is opened for writing before the first append. clean: an orderly end has left it like this,
// see Unchanged.
func (s *Segment) Activate(clean bool) error {
	if s.active.Load() {
		return nil
	}
	if _, _, err := s.MaxTimestamp(); err != nil {
		return err
	}
	s.activate(clean)
	return nil
}

// ActivateEmpty is Activate for a segment without a byte, indexes included.
func (s *Segment) ActivateEmpty(clean bool) {
	s.setLargest(record.NoTimestamp, s.o.Base)
	s.activate(clean)
}

func (s *Segment) activate(clean bool) {
	s.heal.Lock()
	defer s.heal.Unlock()
	s.offsets.Load().Activate()
	s.times.Load().Activate()
	s.active.Store(true)
	s.unchanged.Store(clean)
	s.sinceIndex = 0
}

// TruncateTo removes everything from the batch that holds offset to, or the first one behind it, and makes the segment
// active. It returns how many bytes went. nowMs is when a segment that is empty now counts as created.
func (s *Segment) TruncateTo(to record.Offset, nowMs int64) (int64, error) {
	pos := s.Size()
	loc, ok, err := s.Find(to, s.Size())
	if err != nil {
		return 0, err
	}
	if ok {
		pos, to = loc.Position, min(to, loc.Header.BaseOffset)
	}
	s.heal.Lock()
	defer s.heal.Unlock()
	if err := s.cutIndexes(to); err != nil {
		return 0, err
	}
	cut := s.Size() - pos
	s.size.Store(pos) // readers must not look behind it any more
	if err := s.cutLog(pos); err != nil {
		return 0, err
	}
	s.active.Store(true)
	s.unchanged.Store(false)
	s.sinceIndex = 0
	if pos == 0 {
		s.createdMs, s.firstKnown, s.firstTimestamp = nowMs, false, record.NoTimestamp
	}
	return cut, s.rereadLargest(pos)
}

// cutIndexes keeps the entries of all indexes that are below offset to.
func (s *Segment) cutIndexes(to record.Offset) error {
	if err := s.offsets.Load().Truncate(to); err != nil {
		return err
	}
	if err := s.times.Load().Truncate(to); err != nil {
		return err
	}
	return s.txns.Truncate(to)
}

// cutLog makes the file pos bytes long, if it is longer.
func (s *Segment) cutLog(pos int64) error {
	return s.withFile(func(f vfs.File) error {
		size, err := f.Size()
		if err != nil || size <= pos {
			return err
		}
		defer s.dirty.Store(true)
		return f.Truncate(pos)
	})
}

// rereadLargest finds the largest timestamp of the first end bytes: that of the last time index entry, or a larger one
// in the batches behind it.
func (s *Segment) rereadLargest(end int64) error {
	ts, off := s.times.Load().LastEntry()
	_, pos, err := s.lookup(off)
	if err != nil {
		return err
	}
	sc, err := s.Scan(int64(pos), end)
	if err != nil {
		return err
	}
	defer sc.Close()
	for sc.Next() {
		if h := sc.Header(); h.MaxTimestamp > ts {
			ts, off = h.MaxTimestamp, h.LastOffset()
		}
	}
	s.setLargest(ts, off)
	return sc.Err()
}
