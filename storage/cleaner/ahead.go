package cleaner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// piece is some batches in a row.
type piece struct {
	buf     []byte // its length is the reader's size, but while it holds a batch that is larger
	batches []checked
	entries []entry
	// err is what comes behind the batches; io.EOF at the end.
	err error
}

// shrink gives back what a large batch has taken.
func (p *piece) shrink(size int) {
	if cap(p.buf) > size {
		p.buf = nil
	}
}

// begin empties the piece and puts in the bytes that the one before has left, which are no more than size.
func (p *piece) begin(size int, rest []byte) (have []byte) {
	if cap(p.buf) < size {
		p.buf = make([]byte, size)
	}
	p.buf = p.buf[:size]
	clear(p.batches)
	p.batches, p.entries, p.err = p.batches[:0], p.entries[:0], nil
	return p.buf[:copy(p.buf, rest)]
}

// mostEntries and mostBatches bound what a piece holds besides its bytes, each to as much memory as those have. A batch
// with more records, as compression makes possible, is walked by whoever wants them.
func (r *reader) mostEntries() int { return r.size / int(unsafe.Sizeof(entry{})) }

func (r *reader) mostBatches() int { return r.size / int(unsafe.Sizeof(checked{})) }

// ahead makes the pieces of one segment.
type ahead struct {
	*reader
	ctx context.Context
	// free are pieces that nobody uses, full those that are ready, in order. Both have room for all there are.
	free, full chan *piece

	s        *segment.Segment
	pos, end int64  // where the next batch begins, and where the segment ends
	have     []byte // what was read behind pos
	last     record.Offset
	got      int64 // bytes that were read
}

// run makes pieces until the segment ends, one has an error, or the context ends.
func (a *ahead) run() {
	defer close(a.full)
	for {
		select {
		case <-a.ctx.Done():
			return
		case p := <-a.free:
			err := protect(func() error { return a.fill(p) })
			p.err = err
			a.full <- p
			if err != nil {
				return
			}
		}
	}
}

// fill makes a piece of what the one before has left and one read.
func (a *ahead) fill(p *piece) error {
	a.have = p.begin(a.size, a.have)
	for {
		if ok, err := a.next(p); !ok || err != nil {
			return err
		}
	}
}

// next puts the next batch into the piece, false if it is for the one after; io.EOF at the end. Everything that is wrong
// with the batch as a whole is a *record.CorruptError: compaction copies no damage.
func (a *ahead) next(p *piece) (ok bool, err error) {
	if a.pos == a.end {
		return false, io.EOF
	}
	if ok, err := a.want(p, record.HeaderSize); !ok || err != nil {
		return false, err
	}
	h, err := record.ParseHeader(a.have)
	switch {
	case err != nil:
		return false, a.corrupt(err.Error())
	case int64(h.SizeInBytes) > a.end-a.pos:
		return false, a.corrupt(fmt.Sprintf("a batch of %d bytes of which %d are there", h.SizeInBytes, a.end-a.pos))
	case !a.s.Holds(&h) || h.BaseOffset <= a.last:
		return false, a.corrupt(fmt.Sprintf("offsets %d to %d after %d in a segment from %d on", h.BaseOffset, h.LastOffset(), a.last, a.s.Base()))
	}
	if ok, err := a.want(p, h.SizeInBytes); !ok || err != nil || !a.fits(p, &h) {
		return false, err
	}
	b := record.Batch(a.have[:h.SizeInBytes:h.SizeInBytes])
	p.batches = append(p.batches, checked{batch: b, header: h, pos: a.pos, unsummed: true, unwalked: true})
	if len(a.full) > 0 { // the other side has a piece to go on with meanwhile
		c := &p.batches[len(p.batches)-1]
		if err := a.sum(c); err != nil {
			p.batches = p.batches[:len(p.batches)-1]
			return false, err
		}
		a.walk(p, c)
	}
	a.have = a.have[h.SizeInBytes:]
	a.pos += int64(h.SizeInBytes)
	a.last = h.LastOffset()
	return true, nil
}

// fits reports whether the piece has room for what a batch's header and records tell. An empty piece takes any batch.
func (a *ahead) fits(p *piece, h *record.Header) bool {
	return len(p.batches) == 0 || len(p.batches) < a.mostBatches() && (int(h.Count) > a.mostEntries() || len(p.entries)+int(h.Count) <= a.mostEntries())
}

// sum compares the checksum of a batch, if nobody has yet.
func (a *ahead) sum(c *checked) error {
	if !c.unsummed {
		return nil
	}
	if err := c.batch.CheckCRC(); err != nil {
		return a.locate(err, c.pos)
	}
	c.unsummed = false
	return nil
}

// walk notes what the records of the piece's last batch tell, unless they are too many. Of control batches mostly the
// marker is wanted alone.
func (a *ahead) walk(p *piece, c *checked) {
	if c.header.IsControl() || int(c.header.Count) > a.mostEntries() {
		return
	}
	c.unwalked = false
	first := len(p.entries)
	c.err = walk(c.batch, a.maxRecordBytes, func(e entry) bool {
		if len(p.entries) == a.mostEntries() { // old formats do not say how many there are
			c.unwalked = true
			return false
		}
		p.entries = append(p.entries, e)
		return true
	})
	if c.unwalked {
		p.entries = p.entries[:first]
		return
	}
	c.entries = p.entries[first:]
}

// want makes n bytes be there, or as many as the segment has; false if that is for the next piece to do, as this one has
// batches already.
func (a *ahead) want(p *piece, n int) (ok bool, err error) {
	n = int(min(int64(n), a.end-a.pos))
	if len(a.have) >= n {
		return true, nil
	}
	if len(p.batches) > 0 {
		return false, nil
	}
	// What is there is at the front of buf. A batch that does not fit gets what it needs (KAFKA-6834: whatever the limit
	// is by now, what is in the log was accepted); its size was compared with the file's.
	if n > cap(p.buf) {
		bigger := make([]byte, n)
		copy(bigger, a.have)
		p.buf = bigger
	}
	p.buf = p.buf[:max(n, len(p.buf))]
	from := len(a.have)
	to := int(min(int64(len(p.buf)), a.end-a.pos))
	if err := a.pace(a.ctx, to-from); err != nil {
		return false, err
	}
	region, err := a.s.Region(a.pos+int64(from), to-from)
	if err != nil {
		return false, err
	}
	defer region.Release()
	if err := region.ReadInto(p.buf[from:to]); err != nil {
		return false, fmt.Errorf("%s: read at byte %d: %w", a.s.Path(), a.pos+int64(from), err)
	}
	a.got += int64(to - from)
	a.have = p.buf[:to]
	return true, nil
}

// locate says where a corrupt batch is.
func (a *ahead) locate(err error, pos int64) error {
	if c := (*record.CorruptError)(nil); errors.As(err, &c) {
		c.File, c.Position = a.s.Path(), pos
	}
	return err
}

func (a *ahead) corrupt(reason string) error {
	return &record.CorruptError{File: a.s.Path(), Position: a.pos, Offset: record.NoOffset, Reason: reason}
}
