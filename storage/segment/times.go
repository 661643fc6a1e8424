package segment

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/samsalog/samsa/record"
)

// Found is a record that a lookup by timestamp met.
type Found struct {
	Timestamp   int64
	Offset      record.Offset
	LeaderEpoch record.LeaderEpoch
}

// MaxTimestamp returns the largest timestamp and the last offset of the first batch that has it; (-1, base) without
// timestamps. The first time a sealed segment is asked, its time index is compared with the log and made anew if they
// disagree: one that ends in zeros after a power loss would make the segment look fifty years old (KAFKA-10207).
func (s *Segment) MaxTimestamp() (int64, record.Offset, error) {
	if ts, off, ok := s.knownLargest(); ok {
		return ts, off, nil
	}
	err := s.loadLargest()
	if err != nil && wrongIndex(err) {
		err = s.repair(err)
	}
	if err != nil {
		return record.NoTimestamp, s.o.Base, err
	}
	ts, off, _ := s.knownLargest()
	return ts, off, nil
}

func (s *Segment) knownLargest() (int64, record.Offset, bool) {
	s.largest.Lock()
	defer s.largest.Unlock()
	return s.largest.ts, s.largest.off, s.largest.known
}

func (s *Segment) setLargest(ts int64, off record.Offset) {
	s.largest.Lock()
	defer s.largest.Unlock()
	s.largest.known, s.largest.ts, s.largest.off = true, ts, off
}

// loadLargest takes the last time index entry if the log confirms it.
func (s *Segment) loadLargest() error {
	s.heal.Lock()
	defer s.heal.Unlock()
	if _, _, ok := s.knownLargest(); ok {
		return nil
	}
	ts, off, err := s.times.Load().Last()
	if err != nil {
		return asIndexError(err)
	}
	loc, ok, err := s.find(off, s.Size())
	switch {
	case err != nil:
		return err
	case s.Size() == 0 && ts < 0:
	case !ok:
		return fmt.Errorf("%w: no batch at offset %d of the last time index entry", errIndex, off)
	case loc.Header.MaxTimestamp != ts:
		return fmt.Errorf("%w: the last time index entry says timestamp %d at offset %d, the log %d", errIndex, ts, off, loc.Header.MaxTimestamp)
	}
	s.setLargest(ts, off)
	return nil
}

// LargestTimestamp is what retention and lookups go by: the largest timestamp in ms, or when the log was changed last
// if no record has one.
func (s *Segment) LargestTimestamp() (int64, error) {
	ts, _, err := s.MaxTimestamp()
	if err != nil || ts >= 0 {
		return ts, err
	}
	t, err := s.ModTime()
	return t.UnixMilli(), err
}

// TimeQuery asks for a record by timestamp.
type TimeQuery struct {
	// Timestamp is the smallest wanted, From the smallest offset wanted.
	Timestamp int64
	From      record.Offset
	// End is how much of the segment may be looked at.
	End int64
	// MaxRecord bounds a record inside a compressed batch.
	MaxRecord int
}

// FindTimestamp returns the first record, in log order, that q asks for.
func (s *Segment) FindTimestamp(q TimeQuery) (Found, bool, error) {
	found, ok, err := s.findTimestamp(q)
	if err == nil || !wrongIndex(err) {
		return found, ok, err
	}
	if err := s.repair(err); err != nil {
		return Found{}, false, err
	}
	found, ok, err = s.findTimestamp(q)
	if err != nil && wrongIndex(err) { // the index of an active segment is the writer's: do without
		return s.scanTimestamp(0, record.NoTimestamp, s.o.Base, q)
	}
	return found, ok, err
}

func (s *Segment) findTimestamp(q TimeQuery) (Found, bool, error) {
	ts, off, err := s.lookupTime(q.Timestamp)
	if err != nil {
		return Found{}, false, err
	}
	_, pos, err := s.lookup(max(off, q.From))
	if err != nil {
		return Found{}, false, err
	}
	return s.scanTimestamp(int64(pos), ts, off, q)
}

func (s *Segment) lookupTime(target int64) (int64, record.Offset, error) {
	for {
		x := s.times.Load()
		ts, off, err := x.Lookup(target)
		if errors.Is(err, fs.ErrClosed) && s.times.Load() != x {
			continue
		}
		return ts, off, asIndexError(err)
	}
}

// scanTimestamp looks from pos on; (ts, off) is the time index entry that led there.
func (s *Segment) scanTimestamp(pos, ts int64, off record.Offset, q TimeQuery) (Found, bool, error) {
	sc, err := s.Scan(pos, q.End)
	if err != nil {
		return Found{}, false, err
	}
	defer sc.Close()
	for sc.Next() {
		h := sc.Header()
		if ts >= 0 && h.BaseOffset <= off && off <= h.LastOffset() && h.MaxTimestamp != ts {
			return Found{}, false, fmt.Errorf("%w: time index says timestamp %d at offset %d, the log %d", errIndex, ts, off, h.MaxTimestamp)
		}
		if h.MaxTimestamp < q.Timestamp || h.LastOffset() < q.From {
			continue
		}
		found, ok, err := firstRecord(sc, q.MaxRecord, func(r record.Record) bool { return r.Timestamp >= q.Timestamp && r.Offset >= q.From })
		if ok || err != nil {
			return found, ok, err
		}
	}
	return Found{}, false, sc.Err()
}

// FindMax returns the first record that has the segment's largest timestamp.
func (s *Segment) FindMax(maxRecord int) (Found, bool, error) {
	ts, off, err := s.MaxTimestamp()
	if err != nil || ts < 0 {
		return Found{}, false, err
	}
	loc, ok, err := s.Find(off, s.Size())
	if err != nil || !ok {
		return Found{}, false, err
	}
	sc, err := s.Scan(loc.Position, s.Size())
	if err != nil {
		return Found{}, false, err
	}
	defer sc.Close()
	for sc.Next() {
		if sc.Header().MaxTimestamp != ts {
			continue
		}
		found, ok, err := firstRecord(sc, maxRecord, func(r record.Record) bool { return r.Timestamp == ts })
		if ok || err != nil {
			return found, ok, err
		}
	}
	return Found{}, false, sc.Err()
}

// firstRecord decodes the current batch up to the first record that is wanted.
func firstRecord(sc *Scanner, maxRecord int, wanted func(record.Record) bool) (Found, bool, error) {
	b, err := sc.Batch()
	if err != nil {
		return Found{}, false, err
	}
	rs := b.Records(maxRecord)
	defer rs.Close()
	for rs.Next() {
		if r := rs.Record(); wanted(r) {
			return Found{Timestamp: r.Timestamp, Offset: r.Offset, LeaderEpoch: sc.Header().LeaderEpoch}, true, nil
		}
	}
	return Found{}, false, rs.Err()
}
