package verify

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// cursor reads the entries of an index one by one.
type cursor struct {
	f    *logfile.File
	path string
	size int // of an entry
	buf  []byte
	at   int64 // of buf
	n    int64 // of the next entry
	// stopped: padding, the end, or an order that is broken.
	stopped bool
}

// cursorEntries is how many entries are read at a time.
const cursorEntries = 1024

// entry is the next entry's bytes; nil at the end of the whole ones, or where only zeros follow.
func (c *cursor) entry() []byte {
	pos := c.n * int64(c.size)
	if c.f == nil || c.stopped || pos+int64(c.size) > c.f.SizeInBytes {
		return nil
	}
	if pos < c.at || pos+int64(c.size) > c.at+int64(len(c.buf)) {
		if c.buf == nil {
			c.buf = make([]byte, cursorEntries*c.size)
		}
		c.buf = c.buf[:min(int64(cursorEntries*c.size), c.f.SizeInBytes-pos)]
		n, _ := c.f.ReadAt(c.buf, pos)
		if c.buf, c.at = c.buf[:n], pos; n < c.size {
			return nil
		}
	}
	raw := c.buf[pos-c.at:][:c.size]
	if zero(raw) {
		c.stopped = true
		return nil
	}
	return raw
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// position is where the next entry stands in its file.
func (c *cursor) position() int64 { return c.n * int64(c.size) }

// padding reports how many bytes of zeros end the file, and whether something else is among them.
func (c *cursor) padding() (from int64, only bool, err error) {
	from = c.position()
	whole := c.f.SizeInBytes
	buf := make([]byte, 64<<10)
	for at := from; at < whole; {
		n, err := c.f.ReadAt(buf[:min(int64(len(buf)), whole-at)], at)
		if n == 0 {
			return from, true, err
		}
		if !zero(buf[:n]) {
			return from, false, nil
		}
		at += int64(n)
	}
	return from, true, nil
}

// indexes are the three indexes of a segment, walked beside its batches.
type indexes struct {
	offsets, times, txns cursor
	sev                  Severity
	active               bool // padding is normal
	base                 int64
	// wanted is the offset that the current offset entry promises at or behind its position; -1: none is open.
	wanted, wantedAt          int64
	wantedEntry               int64 // where that entry stands in its file
	lastOffset                int64
	lastPosition              int64
	lastTs, lastTsAt          int64
	badIndex, badTime, badTxn bool
}

// openIndexes opens the indexes of segment i before its log, so that they speak of no more than the log has.
func (c *checker) openIndexes(i int, s *SegmentState) (*indexes, error) {
	x := &indexes{sev: c.indexSeverity(i), base: s.Base, wanted: -1, lastOffset: -1, lastPosition: -1, lastTs: -1, lastTsAt: -1,
		active: !s.Sealed && (!c.facts.Clean || c.facts.Raft || c.facts.Deleting)}
	for _, f := range []struct {
		c      *cursor
		suffix string
		size   int
	}{{&x.offsets, segment.OffsetIndexSuffix, logfile.OffsetEntrySize}, {&x.times, segment.TimeIndexSuffix, logfile.TimeEntrySize},
		{&x.txns, segment.TxnIndexSuffix, logfile.TxnEntrySize}} {
		f.c.path, f.c.size = c.list.Path(s.Base, f.suffix), f.size
		file, err := logfile.Open(c.fs, f.c.path)
		if err == nil {
			f.c.f = file
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			x.close()
			return nil, err
		}
		switch {
		case f.suffix == segment.OffsetIndexSuffix && !c.facts.Deleting && !c.bare():
			s.BadIndex = true
			c.out(about(IndexMissing, Warning, f.c.path, "the offset index is missing", "A broker reads the whole segment at its next start to make it anew"))
		case f.suffix == segment.TimeIndexSuffix && !c.facts.Deleting && !c.bare():
			s.BadTime = true
			c.out(about(IndexMissing, x.sev, f.c.path, "the time index is missing", "Searches by time miss the segment, and retention goes by the file's modification time"))
		}
	}
	return x, nil
}

func (x *indexes) close() {
	for _, c := range []*cursor{&x.offsets, &x.times, &x.txns} {
		if c.f != nil {
			_ = c.f.Close() // it was only read
		}
	}
}

// batch compares the entries that speak of one batch.
func (x *indexes) batch(w *walk, position int64, h *record.Header) {
	x.offset(w, position, h)
	x.time(w, h)
}

// offset compares the offset index entries that speak of the batch at a position.
func (x *indexes) offset(w *walk, position int64, h *record.Header) {
	first, last := int64(h.BaseOffset), int64(h.LastOffset())
	for !x.offsets.stopped {
		raw := x.offsets.entry()
		if raw == nil {
			break
		}
		e := logfile.ParseOffsetEntry(x.base, raw)
		if int64(e.Position) > position && e.Offset > x.lastOffset {
			break // it speaks of a later batch
		}
		switch {
		case e.Offset <= x.lastOffset || int64(e.Position) <= x.lastPosition:
			x.badOffset(w, x.offsets.position(), fmt.Sprintf("offset %d and byte %d do not rise", e.Offset, e.Position))
			return
		case int64(e.Position) != position:
			x.badOffset(w, x.offsets.position(), fmt.Sprintf("no batch begins at byte %d", e.Position))
			return
		case x.wanted >= 0:
			x.badOffset(w, x.wantedEntry, fmt.Sprintf("no batch from byte %d on ends at offset %d", x.wantedAt, x.wanted))
			return
		case e.Offset < last:
			x.badOffset(w, x.offsets.position(), fmt.Sprintf("offset %d for the batch of offsets %d to %d", e.Offset, first, last))
			return
		}
		x.lastOffset, x.lastPosition = e.Offset, int64(e.Position)
		x.wanted, x.wantedAt, x.wantedEntry = e.Offset, position, x.offsets.position()
		x.offsets.n++
	}
	if x.wanted >= 0 && last >= x.wanted {
		if last > x.wanted {
			x.badOffset(w, x.wantedEntry, fmt.Sprintf("no batch ends at offset %d", x.wanted))
			return
		}
		x.wanted = -1
	}
}

// time compares the time entries whose offset lies in the batch. Older releases put the record's own offset there.
func (x *indexes) time(w *walk, h *record.Header) {
	for raw := x.times.entry(); raw != nil; raw = x.times.entry() {
		e := logfile.ParseTimeEntry(x.base, raw)
		if e.Offset > int64(h.LastOffset()) && e.Timestamp > x.lastTs {
			return
		}
		switch {
		case e.Timestamp <= x.lastTs || e.Offset < x.lastTsAt || e.Offset < x.base:
			x.badTimeEntry(w, fmt.Sprintf("timestamp %d at offset %d does not rise", e.Timestamp, e.Offset))
			return
		case e.Offset < int64(h.BaseOffset) && h.Magic == 2:
			x.badTimeEntry(w, fmt.Sprintf("no batch holds offset %d", e.Offset))
			return
		case e.Timestamp != h.MaxTimestamp:
			x.badTimeEntry(w, fmt.Sprintf("timestamp %d at offset %d, the batch has %d", e.Timestamp, e.Offset, h.MaxTimestamp))
			return
		case e.Timestamp < w.maxTs:
			x.badTimeEntry(w, fmt.Sprintf("timestamp %d at offset %d, %d was before", e.Timestamp, e.Offset, w.maxTs))
			return
		}
		x.lastTs, x.lastTsAt = e.Timestamp, e.Offset
		x.times.n++
	}
}

const (
	meansIndex = "Reads that go by the index can miss records that are there; the records themselves are not touched"
	meansTime  = "Searches by time can miss records, and retention goes by a wrong age; the records themselves are not touched"
	meansTxn   = "Consumers that read committed records only may see aborted ones or miss committed ones"
)

// severity of an entry that is wrong: in a segment with damage that is its consequence, and mended with it.
func (x *indexes) severity(w *walk) Severity {
	if len(w.s.Damage) > 0 {
		return Note
	}
	return x.sev
}

func (x *indexes) badOffset(w *walk, entry int64, what string) {
	if !x.badIndex {
		x.badIndex, x.offsets.stopped = true, true
		w.s.BadIndex = true
		w.out(at(IndexEntry, x.severity(w), x.offsets.path, entry, logfile.OffsetEntrySize, what, meansIndex))
	}
}

func (x *indexes) badTimeEntry(w *walk, what string) {
	if !x.badTime {
		x.badTime, x.times.stopped = true, true
		w.s.BadTime = true
		w.out(at(TimeEntryRule, x.severity(w), x.times.path, x.times.position(), logfile.TimeEntrySize, what, meansTime))
	}
}

// end looks at what is left of the indexes behind the last batch.
func (x *indexes) end(w *walk) {
	if x.offsets.f != nil && !x.badIndex {
		if raw := x.offsets.entry(); raw != nil {
			e := logfile.ParseOffsetEntry(x.base, raw)
			x.badOffset(w, x.offsets.position(), fmt.Sprintf("offset %d at byte %d, where no batch begins", e.Offset, e.Position))
		} else if x.wanted >= 0 {
			x.badOffset(w, x.wantedEntry, fmt.Sprintf("no batch ends at offset %d", x.wanted))
		}
		x.rest(w, &x.offsets, IndexLength, meansIndex, &w.s.BadIndex, x.badIndex)
	}
	if x.times.f != nil && !x.badTime {
		if raw := x.times.entry(); raw != nil {
			x.badTimeEntry(w, fmt.Sprintf("offset %d is not in the segment", logfile.ParseTimeEntry(x.base, raw).Offset))
		}
		x.rest(w, &x.times, IndexLength, meansTime, &w.s.BadTime, x.badTime)
		if !x.badTime && !x.active && w.maxTs > x.lastTs && w.maxTs > 0 && !w.s.BadTime && len(w.s.Damage) == 0 {
			w.s.BadTime = true
			w.out(about(TimeLargest, x.sev, x.times.path, fmt.Sprintf("the last entry is %d, the largest timestamp of the segment %d", x.lastTs, w.maxTs),
				"Retention takes the segment for older than it is; records may be deleted too early"))
		}
	}
	x.endTxns(w)
}

// rest looks at the length and the padding of an index.
func (x *indexes) rest(w *walk, c *cursor, rule Rule, means string, bad *bool, already bool) {
	if already {
		return
	}
	from, only, err := c.padding()
	short := c.f.SizeInBytes % int64(c.size)
	switch {
	case err != nil:
		return // the file became shorter
	case !only && from+short != c.f.SizeInBytes || !only && short == 0:
		*bad = true
		w.out(at(IndexEntry, x.sev, c.path, from, c.f.SizeInBytes-from, "an entry of zeros, and more behind it", means))
	case short != 0:
		*bad = true
		w.out(at(rule, x.sev, c.path, c.f.SizeInBytes-short, short, fmt.Sprintf("%d bytes are no multiple of %d", c.f.SizeInBytes, c.size), means))
	case from < c.f.SizeInBytes && !x.active && w.s.Sealed:
		*bad = true
		w.out(at(IndexPadding, x.sev, c.path, from, c.f.SizeInBytes-from, "zeros behind the last entry, in a segment that is no longer written to",
			means+". A power loss leaves such a file"))
	case from < c.f.SizeInBytes && !x.active:
		*bad = true
		w.out(at(IndexPadding, x.sev, c.path, from, c.f.SizeInBytes-from, "zeros behind the last entry, although the broker was stopped in order", means))
	}
}

// ended compares the end of a transaction with the next entry of the transaction index.
func (x *indexes) ended(w *walk, e ending) {
	if x.badTxn {
		return
	}
	raw := x.txns.entry()
	var entry logfile.AbortedEntry
	if raw != nil {
		entry = logfile.ParseAbortedEntry(raw)
	}
	switch {
	case raw == nil || entry.Version == 0 && int64(entry.LastOffset) > e.marker:
		if e.aborted && e.data {
			x.badTxns(w, TxnMissing, fmt.Sprintf("the transaction of producer %d that offset %d aborts is missing", e.id, e.marker))
		}
	case entry.Version != 0:
		x.badTxns(w, TxnEntry, fmt.Sprintf("version %d, only 0 is known", entry.Version))
	case int64(entry.LastOffset) < e.marker:
		x.badTxns(w, TxnEntry, fmt.Sprintf("no marker aborts a transaction at offset %d", entry.LastOffset))
	default:
		if why := w.aborted(entry, e); why != "" {
			x.badTxns(w, TxnEntry, why)
			return
		}
		x.txns.n++
	}
}

// aborted compares an entry with the marker at its last offset.
func (w *walk) aborted(a logfile.AbortedEntry, e ending) string {
	switch {
	case !e.aborted:
		return fmt.Sprintf("offset %d commits its transaction", e.marker)
	case int64(a.ProducerID) != e.id:
		return fmt.Sprintf("producer %d, the marker at offset %d is of producer %d", a.ProducerID, e.marker, e.id)
	case a.FirstOffset > a.LastOffset || a.FirstOffset < 0 || e.data && int64(a.FirstOffset) > e.start:
		return fmt.Sprintf("the transaction of producer %d begins at offset %d, the entry says %d", e.id, e.start, a.FirstOffset)
	case a.LastStableOffset > a.LastOffset+1 || a.LastStableOffset < 0:
		return fmt.Sprintf("last stable offset %d for a marker at offset %d", a.LastStableOffset, a.LastOffset)
	case w.exact && e.txn != nil && (a.FirstOffset != e.txn.FirstOffset || a.LastStableOffset != e.txn.LastStableOffset):
		return fmt.Sprintf("first offset %d and last stable offset %d, the log tells %d and %d", a.FirstOffset, a.LastStableOffset, e.txn.FirstOffset, e.txn.LastStableOffset)
	}
	return ""
}

func (x *indexes) badTxns(w *walk, rule Rule, what string) {
	if x.badTxn {
		return
	}
	x.badTxn, w.s.BadTxn = true, true
	w.out(at(rule, x.severity(w), x.txns.path, x.txns.position(), logfile.TxnEntrySize, what, meansTxn))
}

func (x *indexes) endTxns(w *walk) {
	if x.badTxn || x.txns.f == nil {
		return
	}
	size, pos := x.txns.f.SizeInBytes, x.txns.position()
	if pos < size && len(w.s.Damage) == 0 {
		what := fmt.Sprintf("%d bytes that are no entry of a marker in the segment", size-pos)
		x.badTxns(w, TxnEntry, what)
	} else if pos < size {
		w.s.BadTxn = true // what it says of the damaged batches cannot be checked
	}
}
