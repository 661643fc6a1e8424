package storage

import (
	"errors"
	"slices"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// splitOverflows divides the segments that need it while the log is being loaded, and returns the files as they are then.
func (l *Log) splitOverflows(files []file) ([]file, error) {
	list := l.list()
	for i := 0; i+1 < len(list); i++ {
		if list[i].Fits(list[i+1].Base() - 1) {
			continue
		}
		if err := l.splitOverflowing(list[i]); err != nil {
			return nil, err
		}
	}
	known := map[record.Offset]file{}
	for i, s := range list {
		if slices.Contains(l.list(), s) {
			known[s.Base()] = files[i]
		}
	}
	var out []file
	for _, s := range l.list() {
		f, ok := known[s.Base()]
		if !ok {
			f = file{base: s.Base(), size: s.Size(), index: true, timeIndex: true}
		}
		out = append(out, f)
	}
	return out, nil
}

// splitOverflowing divides a sealed segment that holds offsets more than 2^31-1 above its base, as compaction of old
// releases wrote them (KAFKA-6264), into several whose indexes can name all of them (specification 9.5). It does nothing
// to other segments, nor where the batches up to the first such one are not sound: that is for recovery to judge.
func (l *Log) splitOverflowing(s *segment.Segment) error {
	over, err := l.overflows(s)
	if err != nil || !over {
		return err
	}
	c := &Cleaning{l: l, Config: l.Config(), cuts: l.cuts.seen()}
	var fresh []*segment.Segment
	err = l.copySplit(c, s, &fresh)
	if err == nil {
		err = finishSplit(s, fresh)
	}
	if errors.Is(err, record.ErrCorruptBatch) {
		return discard(fresh)
	}
	if err != nil {
		return errors.Join(err, discard(fresh))
	}
	return c.Replace(fresh, []*segment.Segment{s})
}

// overflows reports whether all batches of the segment are sound, and one does not fit.
func (l *Log) overflows(s *segment.Segment) (bool, error) {
	sc, err := s.Scan(0, s.Size())
	if err != nil {
		return false, err
	}
	over, last := false, record.NoOffset
	for sc.Next() {
		h := sc.Header()
		if h.BaseOffset <= last {
			break
		}
		last = h.LastOffset()
		over = over || !s.Fits(last)
	}
	sound := sc.End() == s.Size() && sc.Skipped() == nil && sc.Err() == nil
	err = sc.Err()
	sc.Close()
	if errors.Is(err, record.ErrCorruptBatch) {
		err = nil
	}
	return over && sound, err
}

// copySplit writes the batches into new segments, of which one begins where the offsets no longer fit.
func (l *Log) copySplit(c *Cleaning, s *segment.Segment, fresh *[]*segment.Segment) error {
	sc, err := s.Scan(0, s.Size())
	if err != nil {
		return err
	}
	defer sc.Close()
	base := s.Base()
	for sc.Next() {
		n := len(*fresh)
		if n == 0 || !(*fresh)[n-1].Fits(sc.Header().LastOffset()) {
			if n > 0 || !s.Fits(sc.Header().LastOffset()) {
				base = sc.Header().BaseOffset
			}
			f, err := c.Create(base)
			if err != nil {
				return err
			}
			*fresh = append(*fresh, f)
		}
		b, err := sc.Batch()
		if err != nil {
			return err
		}
		if err := b.CheckCRC(); err != nil {
			return err
		}
		if err := (*fresh)[len(*fresh)-1].Append(b, c.Config.IndexIntervalBytes); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return splitAborted(s, *fresh)
}

// splitAborted gives each new segment the transaction index entries of its markers.
func splitAborted(s *segment.Segment, fresh []*segment.Segment) error {
	aborted, _, err := s.Aborted(0, record.Offset(1<<63-1))
	if err != nil {
		return err
	}
	for _, a := range aborted {
		i := floor(fresh, a.LastOffset)
		if i < 0 {
			continue
		}
		if err := fresh[i].AppendAborted(a); err != nil {
			return err
		}
	}
	return nil
}

// finishSplit makes the new segments durable and as old as s.
func finishSplit(s *segment.Segment, fresh []*segment.Segment) error {
	modTime, err := s.ModTime()
	if err != nil {
		return err
	}
	size := int64(0)
	for _, f := range fresh {
		if err := errors.Join(f.Seal(), f.Sync(), f.SetModTime(modTime)); err != nil {
			return err
		}
		size += f.Size()
	}
	if size != s.Size() {
		return &record.CorruptError{File: s.Path(), Position: -1, Offset: record.NoOffset, Reason: "splitting the segment did not keep all of it"}
	}
	return nil
}
