package cleaner

import (
	"errors"
	"math"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/storage/segment"
)

// output writes what stays of a group. That normally is one segment; where bytes or offsets do not fit into one, as
// when old formats grow by being rewritten, it is several (KAFKA-20036).
type output struct {
	c    *storage.Cleaning
	size int // of the buffer
	pace func(bytes int) error
	// maxBytes bounds a segment; it is segment.MaxSize but in tests.
	maxBytes int64

	segments []*segment.Segment
	buf      []byte
	first    record.Offset // base offset of what is in buf
	aborted  []index.AbortedTxn
	written  int64
}

// start opens the first segment.
func (w *output) start(base record.Offset) error { return w.create(base) }

func (w *output) create(base record.Offset) error {
	s, err := w.c.Create(base)
	if err != nil {
		return w.c.Failed("creating a segment for compaction", err)
	}
	w.segments = append(w.segments, s)
	return nil
}

// add takes a batch, which it copies.
func (w *output) add(o *outcome) error {
	h := o.batch.Header()
	if len(w.buf) > 0 && (len(w.buf)+len(o.batch) > w.size || h.LastOffset()-w.first > math.MaxInt32) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if len(w.buf) == 0 {
		w.first = h.BaseOffset
	}
	w.buf = append(w.buf, o.batch...)
	if o.aborted != nil {
		w.aborted = append(w.aborted, *o.aborted)
	}
	return nil
}

// flush writes what was added.
func (w *output) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if err := w.pace(len(w.buf)); err != nil {
		return err
	}
	s, err := w.target()
	if err != nil {
		return err
	}
	if err := s.Append(w.buf, w.c.Config.IndexIntervalBytes); err != nil {
		return w.c.Failed("writing a compacted segment", err)
	}
	for _, a := range w.aborted {
		if err := s.AppendAborted(a); err != nil {
			return w.c.Failed("indexing an aborted transaction", err)
		}
	}
	w.written += int64(len(w.buf))
	w.buf, w.aborted = w.buf[:0], w.aborted[:0]
	return nil
}

// target is the segment that buf goes to: the last one, or a new one if it does not fit there.
func (w *output) target() (*segment.Segment, error) {
	s := w.segments[len(w.segments)-1]
	last := w.first
	for sc := record.NewScanner(w.buf); sc.Next(); {
		last = sc.Batch().LastOffset()
	}
	if s.Fits(last) && (s.Size() == 0 || s.Size()+int64(len(w.buf)) <= w.maxBytes) {
		return s, nil
	}
	if err := w.create(w.first); err != nil {
		return nil, err
	}
	return w.segments[len(w.segments)-1], nil
}

// finish makes the segments ready to be swapped in: sealed, durable, and as old as what they replace.
func (w *output) finish(modTime time.Time) error {
	if err := w.flush(); err != nil {
		return err
	}
	for _, s := range w.segments {
		if err := errors.Join(s.Seal(), s.Sync()); err != nil {
			return w.c.Failed("fsync of a compacted segment", err)
		}
		if err := s.SetModTime(modTime); err != nil {
			return w.c.Failed("setting the time of a compacted segment", err)
		}
	}
	return nil
}

// discard removes what was written.
func (w *output) discard() error {
	var err error
	for _, s := range w.segments {
		err = errors.Join(err, s.Discard())
	}
	return err
}
