package storage

import (
	"errors"
	"io"
	"io/fs"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/storage/segment"
)

// maxReadAttempts is how often a read begins anew when segments are deleted or truncated under it.
const maxReadAttempts = 8

// Read returns the batches from the one that holds start on, at most maxBytes of one segment, below what iso allows.
// With minOne the first batch comes whole, however large; without it, a first batch that is larger than maxBytes gives
// nothing. The region ends at a batch boundary, except where the log is damaged.
//
// ErrOffsetOutOfRange below the log start and above the log end; nothing and no error between the bound and the log end.
func (l *Log) Read(start record.Offset, iso Isolation, maxBytes int, minOne bool) (ReadInfo, error) {
	for attempt := 1; ; attempt++ {
		info, err := l.read(start, iso, maxBytes, minOne)
		if l.pending.some.Load() {
			l.tell()
		}
		if err == nil || attempt == maxReadAttempts || !movedAway(err) || l.isClosed() {
			return info, l.readError(err)
		}
	}
}

// movedAway reports whether a read failed as it does when its segment is deleted or truncated meanwhile.
func movedAway(err error) bool {
	return errors.Is(err, fs.ErrClosed) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.closed
}

// readError wraps what the file system reported; other errors stay.
func (l *Log) readError(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrOffsetOutOfRange), errors.Is(err, record.ErrCorruptBatch),
		errors.Is(err, record.ErrInvalidRecord), errors.Is(err, record.ErrDecompress), errors.Is(err, record.ErrUnsupportedCodec):
		return err
	case errors.Is(err, fs.ErrClosed) && l.isClosed():
		if err := l.Err(); err != nil {
			return err
		}
		return ErrClosed
	}
	return storageError(err)
}

func (l *Log) read(start record.Offset, iso Isolation, maxBytes int, minOne bool) (ReadInfo, error) {
	o, hw, stable, end := l.bounds()
	info := ReadInfo{FirstOffset: start, HighWatermark: o.HighWatermark, LastStableOffset: o.LastStableOffset,
		LogStartOffset: o.LogStartOffset, LogEndOffset: o.LogEndOffset}
	if err := l.Err(); err != nil { // also at the log end, where nothing would be read: nobody may wait for it to grow
		return info, err
	}
	bound := end
	switch iso {
	case HighWatermark:
		bound = hw
	case TxnCommitted:
		bound = stable
		info.Aborted = []index.AbortedTxn{}
	}
	if start < o.LogStartOffset || start > end.offset {
		return info, ErrOffsetOutOfRange
	}
	if start >= bound.offset {
		return info, nil
	}
	list := l.list()
	bound, err := l.place(list, bound)
	if err != nil {
		return info, err
	}
	i := floor(list, start)
	if i < 0 {
		return info, ErrOffsetOutOfRange
	}
	for ; i < len(list) && list[i].Base() <= bound.base; i++ {
		limit := list[i].Size()
		if list[i].Base() == bound.base {
			limit = min(limit, bound.position)
		}
		loc, ok, err := list[i].Find(start, limit)
		if err != nil {
			return info, err
		}
		if !ok {
			continue // a gap at the segment's end
		}
		err = l.cut(&info, list[i], &loc, limit, maxBytes, minOne)
		if err == nil && iso == TxnCommitted && info.Region.Length > 0 {
			if info.Aborted, err = l.aborted(list[i:], start, &info, end.offset); err != nil {
				info.Region.Release()
			}
		}
		return info, err
	}
	return info, nil
}

// place finds out where a mark is in the files, and remembers it.
func (l *Log) place(list []*segment.Segment, m *mark) (*mark, error) {
	if m.position >= 0 {
		return m, nil
	}
	i := floor(list, m.offset)
	if i < 0 {
		return m, ErrOffsetOutOfRange
	}
	s := list[i]
	found := &mark{offset: m.offset, base: s.Base(), position: s.Size()}
	loc, ok, err := s.Find(m.offset, s.Size())
	if err != nil {
		return m, err
	}
	if ok {
		found.position = loc.Position
	}
	if !l.hw.CompareAndSwap(m, found) {
		l.unstable.CompareAndSwap(m, found)
	}
	return found, nil
}

// cut makes the region that begins with the batch at loc and ends at limit at the latest.
func (l *Log) cut(info *ReadInfo, s *segment.Segment, loc *segment.Location, limit int64, maxBytes int, minOne bool) error {
	first := loc.Header.SizeInBytes
	if first > maxBytes {
		if !minOne {
			return nil
		}
		maxBytes = first
	}
	to := limit
	switch {
	case limit-loc.Position <= int64(maxBytes):
	case maxBytes-first < record.HeaderSize: // no second batch fits
		to = loc.Position + int64(first)
	default:
		to = loc.Position + int64(maxBytes)
		var err error
		if to, err = s.Boundary(loc.Position+int64(first), to); err != nil {
			return err
		}
	}
	region, err := s.Region(loc.Position, int(to-loc.Position))
	if err == nil {
		info.Region, info.FirstOffset = region, loc.Header.BaseOffset
	}
	return err
}

// aborted collects the aborted transactions that overlap the region, from the segments on, of which the first was read.
func (l *Log) aborted(list []*segment.Segment, start record.Offset, info *ReadInfo, end record.Offset) ([]index.AbortedTxn, error) {
	to, ok := list[0].UpperBound(info.Region.Offset, info.Region.Length)
	if !ok {
		to = end
		if len(list) > 1 {
			to = list[1].Base()
		}
	}
	all := []index.AbortedTxn{}
	for _, s := range list {
		found, complete, err := s.Aborted(start, to)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if complete {
			break
		}
	}
	return all, nil
}
