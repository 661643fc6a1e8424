package verify

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// forever: no producer expires while a log is read.
const forever = time.Duration(math.MaxInt64)

// segment looks at one segment: its batches, and its indexes beside them.
func (c *checker) segment(i int) error {
	meta := c.list.Segments[i]
	path := c.list.Path(meta.Base, segment.LogSuffix)
	s := SegmentState{Segment: meta, Sealed: i+1 < len(c.list.Segments), Next: meta.Base}
	limit := int64(math.MaxInt64)
	if s.Sealed {
		limit = c.list.Segments[i+1].Base
	}
	x, err := c.openIndexes(i, &s)
	if err != nil {
		return err
	}
	defer x.close()
	f, err := logfile.Open(c.fs, path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	if c.o.Deep {
		r.Depth = logfile.Records
	}
	c.between(path, meta.Base)
	w := &walk{checker: c, path: path, s: &s, limit: min(limit, meta.Base+math.MaxInt32+1), x: x}
	if err := w.run(r); err != nil {
		return err
	}
	x.end(w)
	c.state.Segments = append(c.state.Segments, s)
	return nil
}

// between looks at the offsets between two segments.
func (c *checker) between(path string, base int64) {
	if len(c.held) > 0 {
		c.release(base)
		c.next = max(c.next, base)
		return
	}
	if c.first || base <= c.next {
		return
	}
	c.gap(path, 0, c.next, base-1)
	c.next = base
}

// gap is about offsets that no batch holds.
func (c *checker) gap(path string, position, first, last int64) {
	c.gaps, c.exact = true, false
	if len(c.pending) < maxPending {
		c.pending = append(c.pending, at(OffsetGap, Error, path, position, 0, "no batch holds these offsets, and nothing tells of compaction",
			"The records are missing here; a consumer goes on behind them").offsets(first, last))
	}
}

// maxPending bounds the gaps that are kept until the end of the log; a compacted one has any number.
const maxPending = 1000

// walk goes through the batches of one segment.
type walk struct {
	*checker
	path  string
	s     *SegmentState
	limit int64 // offsets of the segment are below it
	x     *indexes
	maxTs int64
	// running is the sum of what was read, for the throttle.
	running int64
}

func (w *walk) run(r *logfile.Reader) error {
	w.maxTs = -1
	for {
		for r.Next() {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			if err := w.o.pace(int64(r.Header().SizeInBytes)); err != nil {
				return err
			}
			h := r.Header()
			if r.Valid() {
				w.mend(r, h)
			}
			switch why, rule := w.wrong(r, h); {
			case why == "":
				if w.deepWrong(r) {
					continue
				}
				w.good(r, h)
			case rule == BatchChecksum:
				// The length was followed; if what comes next is a batch, only this one is broken.
				if !w.follows(r) {
					if more, err := w.search(r, r.Start(), why, rule); err != nil || !more {
						return err
					}
					continue
				}
				w.damage(Damage{Position: r.Start(), Length: int64(h.SizeInBytes)}, why, rule)
			default:
				if more, err := w.search(r, r.Start(), why, rule); err != nil || !more {
					return err
				}
			}
		}
		if err := r.Err(); err != nil && !errors.Is(err, record.ErrCorruptBatch) {
			return fmt.Errorf("%s: %w", w.path, err)
		}
		if r.Position() >= r.End() {
			return nil
		}
		why := "the file ends inside of a batch"
		var corrupt *record.CorruptError
		if errors.As(r.Err(), &corrupt) {
			why = corrupt.Reason
		}
		if more, err := w.search(r, r.Position(), why, BatchStructure); err != nil || !more {
			return err
		}
	}
}

// wrong says what is wrong with a batch; "" for nothing.
func (w *walk) wrong(r *logfile.Reader, h *record.Header) (string, Rule) {
	first, last := int64(h.BaseOffset), int64(h.LastOffset())
	switch {
	case !r.Valid():
		return fmt.Sprintf("the stored checksum is %d, the batch's is %d", h.CRC, r.Batch().ComputeCRC()), BatchChecksum
	case last < first || first < w.s.Base || last >= w.limit:
		return fmt.Sprintf("offsets %d to %d do not belong into this segment, which has %d to %d", first, last, w.s.Base, w.limit-1), BatchOrder
	case first < w.next && (h.Magic == 2 || last < w.next):
		return fmt.Sprintf("offsets %d to %d, where %d or more is expected", first, last, w.next), BatchOrder
	case h.Magic == 2 && (h.Count < 0 || int64(h.Count) > int64(h.LastOffsetDelta)+1):
		return fmt.Sprintf("%d records in %d offsets", h.Count, int64(h.LastOffsetDelta)+1), BatchStructure
	}
	return "", ""
}

// deepWrong reads the records of a batch whose checksum is right, if that is asked for.
func (w *walk) deepWrong(r *logfile.Reader) bool {
	if !w.o.Deep {
		return false
	}
	rs := r.Records(0)
	defer rs.Close()
	n := int32(0)
	for rs.Next() {
		n++
	}
	err := rs.Err()
	if err == nil && r.Header().Magic == 2 && n != r.Header().Count {
		err = fmt.Errorf("%d records, the header says %d", n, r.Header().Count)
	}
	if err == nil {
		return false
	}
	w.damage(Damage{Position: r.Start(), Length: int64(r.Header().SizeInBytes)}, "the records cannot be read: "+err.Error(), BatchStructure)
	return true
}

// good takes in a batch that is as it should be.
func (w *walk) good(r *logfile.Reader, h *record.Header) {
	c, first, last := w.checker, int64(h.BaseOffset), int64(h.LastOffset())
	if h.Magic < 2 && first > c.next {
		first = c.next // an old wrapper's first offset is inside
	}
	c.snapshotsUpTo(min(first, c.next), false)
	if first > c.next {
		c.exact = false
		c.snapshotsUpTo(first, false)
	}
	if len(c.held) > 0 {
		if n := len(w.s.Damage); n > 0 {
			w.s.Damage[n-1].Last = first - 1
		}
		c.release(first)
	} else if first > c.next && !c.first {
		c.gap(w.path, r.Start(), c.next, first-1)
	} else if first > c.next && c.facts.RecoveryPoint >= 0 && first > c.facts.LogStart {
		c.gap(w.path, r.Start(), max(c.next, c.facts.LogStart), first-1) // a segment begins with the batch it was made for
	} else if first > c.next {
		c.gaps, c.exact = true, false
	}
	if h.Magic == 2 && (int64(h.Count) < int64(h.LastOffsetDelta)+1 || h.Attributes.HasDeleteHorizon()) {
		c.compacted = true
	}
	c.first = false
	w.produced(r, h)
	w.x.batch(w, r.Start(), h)
	w.maxTs = max(w.maxTs, h.MaxTimestamp)
	c.next, w.s.Next, w.s.End = last+1, last+1, r.Position()
	c.state.Batches++
	c.state.Bytes += int64(h.SizeInBytes)
}

// produced lets the batch change the producers' state, and compares the transactions that end with the index.
func (w *walk) produced(r *logfile.Reader, h *record.Header) {
	if !h.HasProducerID() {
		return
	}
	id := int64(h.ProducerID)
	var marker *record.EndTxnMarker
	if h.IsControl() {
		marker, _ = segment.Marker(r.Batch())
	} else if _, ok := w.starts[id]; h.IsTransactional() && h.Count > 0 && !ok {
		w.starts[id] = int64(h.BaseOffset)
	}
	if err := w.replay.Stage(h, marker, producer.Rules{Source: producer.FromLog}); err != nil {
		w.replay.Discard()
		return
	}
	end := h.NextOffset()
	done := w.replay.Commit(end, h.MaxTimestamp)
	if marker != nil {
		start, data := w.starts[id]
		delete(w.starts, id)
		ended := ending{id: id, marker: int64(h.LastOffset()), aborted: marker.Type == record.ControlAbort, start: start, data: data, position: r.Start()}
		if len(done) == 1 {
			ended.txn = &done[0]
		}
		w.x.ended(w, ended)
	}
	w.replay.HighWatermark(end)
}

// ending is a transaction whose marker has been met.
type ending struct {
	id, marker, start, position int64
	aborted, data               bool
	txn                         *producer.CompletedTxn
}

// follows reports whether a batch begins right behind the current one.
func (w *walk) follows(r *logfile.Reader) bool {
	if r.Position() == r.End() {
		return true
	}
	base, ok := behind(r)
	return ok && base > w.next && base < w.limit
}

// search looks behind damage that begins at start for the next batch, and says what lies before it.
func (w *walk) search(r *logfile.Reader, start int64, why string, rule Rule) (bool, error) {
	r.Rewind(start)
	zeros, err := r.Zeros()
	if err != nil {
		return false, err
	}
	if zeros {
		w.damage(Damage{Position: start, Length: r.End() - start, Tail: true, Zeros: true}, why, rule)
		return false, nil
	}
	found, err := r.Resync(record.Offset(w.next), record.Offset(w.limit-1))
	if err != nil {
		return false, fmt.Errorf("%s: %w", w.path, err)
	}
	w.damage(Damage{Position: start, Length: r.Position() - start, Tail: !found}, why, rule)
	return found, nil
}

// damage tells of bytes that are no batch. Which offsets are missing the batch behind will tell.
func (w *walk) damage(d Damage, why string, rule Rule) {
	d.First, d.Last = w.next, w.next-1
	w.exact = false
	if !w.s.Sealed && d.Tail {
		w.tail(d, why)
		return
	}
	w.s.Damage = append(w.s.Damage, d)
	f := at(rule, Error, w.path, d.Position, d.Length, why, "The records from this offset on up to the next batch cannot be read; batches before and behind are whole")
	if d.Tail {
		f.Means = "Nothing that follows in the segment can be read"
	}
	w.hold(f)
}

// hold keeps a finding about damage until the batch behind tells which offsets are missing.
func (c *checker) hold(f Finding) {
	c.release(c.next)
	c.held = append(c.held, f)
}

// release lets a finding about damage go: the log goes on at offset next.
func (c *checker) release(next int64) {
	for _, f := range c.held {
		if next > c.next {
			f = f.offsets(c.next, next-1)
		}
		c.out(f)
	}
	c.held = nil
}

// tail tells of what lies behind the last batch of the log.
func (w *walk) tail(d Damage, why string) {
	switch {
	case d.Zeros && preallocated(d.Position+d.Length):
		w.out(at(LogTail, Note, w.path, d.Position, d.Length, "zeros behind the last batch, as preallocation leaves them", "A broker cuts them off at the next start"))
		return
	case d.Zeros:
		why = "zeros behind the last batch"
	}
	w.s.Damage = append(w.s.Damage, d)
	sev := Warning
	if w.trusted(len(w.state.Segments)) && w.facts.RecoveryPoint >= 0 {
		sev = Error
	}
	w.out(at(LogTail, sev, w.path, d.Position, d.Length, "the last bytes are no whole batch: "+why,
		"A broker cuts them off at the next start, unless it was stopped in order; what they held was lost or never finished"))
}

// preallocated reports whether a file may have been made this long in one go.
func preallocated(size int64) bool { return size >= 1<<20 && size%4096 == 0 }
