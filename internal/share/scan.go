package share

import (
	"sync"

	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// scanBytes is what is read of the log at a time to find the headers of batches: small batches share one read, of large
// ones little more than the header is touched.
const scanBytes = 8 << 10

// scans are the buffers for it.
type scans struct{ pool sync.Pool }

func (s *scans) get() *[]byte {
	if b, ok := s.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, scanBytes)
	return &b
}

// scan finds the record batches of what was read, up to the one that holds the offset before enough.
func (p *fetching) scan(enough record.Offset, aborted []index.AbortedTxn) error {
	m := p.sp.m
	buf := m.scans.get()
	defer m.scans.pool.Put(buf)
	headers := headerReader{region: &p.region, buf: *buf}
	p.spans, p.ends, p.aborted = p.spans[:0], p.ends[:0], p.aborted[:0]
	enough = max(enough, p.sp.next()+(enough-p.offset))
	for at := 0; at < p.region.Length; {
		h, err := headers.at(at)
		if err != nil {
			return err
		}
		if h.SizeInBytes <= 0 || at+h.SizeInBytes > p.region.Length || h.BaseOffset >= enough {
			break
		}
		at += h.SizeInBytes
		s := window.Span{First: h.BaseOffset, Last: h.LastOffset()}
		p.spans, p.ends = append(p.spans, s), append(p.ends, at)
		if isAborted(h, aborted) {
			p.aborted = append(p.aborted, s)
		}
	}
	return nil
}

// next is the first offset that nobody acquired yet.
func (p *partition) next() record.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.phase != active {
		return 0
	}
	return p.mu.window.Next()
}

// isAborted reports whether a batch belongs to one of the aborted transactions.
func isAborted(h record.Header, aborted []index.AbortedTxn) bool {
	if !h.IsTransactional() || h.IsControl() {
		return false
	}
	for _, a := range aborted {
		if a.ProducerID == h.ProducerID && a.FirstOffset <= h.BaseOffset && h.BaseOffset <= a.LastOffset {
			return true
		}
	}
	return false
}

// headerReader reads headers of batches through a buffer.
type headerReader struct {
	region *vfs.Region
	buf    []byte
	// from and filled say which bytes of the region are in buf.
	from, filled int
}

// at returns the header of the batch at a position of the region.
func (r *headerReader) at(position int) (record.Header, error) {
	need := min(record.HeaderSize, r.region.Length-position)
	if position < r.from || position+need > r.from+r.filled {
		r.from, r.filled = position, min(len(r.buf), r.region.Length-position)
		part := vfs.Region{File: r.region.File, Offset: r.region.Offset + int64(position), Length: r.filled}
		if err := part.ReadInto(r.buf); err != nil {
			return record.Header{}, err
		}
	}
	return record.ParseHeader(r.buf[position-r.from : position-r.from+need])
}

// slice cuts the region to the batches that hold acquired records.
func (p *fetching) slice() {
	if len(p.acquired) == 0 {
		p.region.Release()
		p.region = vfs.Region{}
		return
	}
	first, last := p.acquired[0].First, p.acquired[0].Last
	for _, a := range p.acquired[1:] {
		first, last = min(first, a.First), max(last, a.Last)
	}
	from, to := 0, 0
	for i, s := range p.spans {
		if s.Last < first {
			from = p.ends[i]
		}
		if s.First <= last {
			to = p.ends[i]
		}
	}
	p.region.Offset += int64(from)
	p.region.Length = to - from
}
