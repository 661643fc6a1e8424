package segment

import (
	"errors"
	"io/fs"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// SetState renames the segment's files from one State to another, the log first: as long as the log is not renamed the
// segment counts as what it was. Readers go on.
func (s *Segment) SetState(state string) error {
	s.heal.Lock()
	defer s.heal.Unlock()
	var from [len(suffixes)]string
	for i, suffix := range suffixes {
		from[i] = s.path(suffix)
	}
	s.o.State = state
	for i, suffix := range suffixes {
		to := s.path(suffix)
		err := s.o.FS.Rename(from[i], to)
		if err != nil && !(suffix == TxnIndexSuffix && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
		s.renamed(suffix, to)
	}
	return nil
}

// Discard removes the files of a segment that nobody else has seen, and gives it up. Files that are gone are no error.
func (s *Segment) Discard() error {
	err := s.Close()
	s.heal.Lock()
	defer s.heal.Unlock()
	for _, suffix := range suffixes {
		if e := s.o.FS.Remove(s.path(suffix)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// SetModTime makes t the time of the last change, which retention and old tombstones go by.
func (s *Segment) SetModTime(t time.Time) error { return s.o.FS.Chtimes(s.Path(), t) }

// IndexBytes is how long the files of offset and time index are; 0 for one that is missing.
func (s *Segment) IndexBytes() (offsets, times int64, err error) {
	s.heal.Lock()
	offsetPath, timePath := s.path(OffsetIndexSuffix), s.path(TimeIndexSuffix)
	s.heal.Unlock()
	if offsets, err = sizeOf(s.o.FS, offsetPath); err != nil {
		return 0, 0, err
	}
	times, err = sizeOf(s.o.FS, timePath)
	return offsets, times, err
}

func sizeOf(fsys vfs.FS, path string) (int64, error) {
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Holds reports whether a batch with these offsets can be in the segment; no CRC covers its base offset.
func (s *Segment) Holds(h *record.Header) bool { return s.holds(h) }

// FirstTimestamp is the maximum timestamp of the first batch; -1 if there is none.
func (s *Segment) FirstTimestamp() (int64, error) {
	sc, err := s.Scan(0, s.Size())
	if err != nil {
		return record.NoTimestamp, err
	}
	defer sc.Close()
	if sc.Next() {
		return sc.Header().MaxTimestamp, nil
	}
	return record.NoTimestamp, sc.Err()
}

// PositionOf is where a scan for offset o may begin: a batch boundary before which every batch ends below o.
func (s *Segment) PositionOf(o record.Offset) (int64, error) {
	loc, ok, err := s.Find(o, s.Size())
	if err != nil || !ok {
		return s.Size(), err
	}
	return loc.Position, nil
}
