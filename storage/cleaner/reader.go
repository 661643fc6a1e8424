package cleaner

import (
	"errors"
	"fmt"
	"io"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// reader walks the batches of segments through one buffer. It grows when a batch is larger (KAFKA-6834: whatever the
// limit is by now, what is in the log was accepted), and shrinks back with the next segment.
type reader struct {
	// size is the buffer's usual size; pace is told of what is going to be read, and may refuse.
	size int
	pace func(bytes int) error

	s        *segment.Segment
	pos, end int64 // where the next batch begins, and where the segment ends
	buf      []byte
	have     []byte // what of buf is not used yet
	last     record.Offset
	read     int64
}

// open goes to the batch boundary pos of s.
func (r *reader) open(s *segment.Segment, pos int64) {
	r.s, r.pos, r.end, r.have, r.last = s, pos, s.Size(), nil, record.NoOffset
	if cap(r.buf) != r.size {
		r.buf = make([]byte, r.size)
	}
}

// next returns the next batch, which is lent until the following call; io.EOF at the end. Everything that is wrong with
// it is a *record.CorruptError: compaction copies no damage.
func (r *reader) next() (record.Batch, record.Header, error) {
	if r.pos == r.end {
		return nil, record.Header{}, io.EOF
	}
	if err := r.want(record.HeaderSize); err != nil {
		return nil, record.Header{}, err
	}
	h, err := record.ParseHeader(r.have)
	switch {
	case err != nil:
		return nil, h, r.corrupt(err.Error())
	case int64(h.SizeInBytes) > r.end-r.pos:
		return nil, h, r.corrupt(fmt.Sprintf("a batch of %d bytes of which %d are there", h.SizeInBytes, r.end-r.pos))
	case !r.s.Holds(&h) || h.BaseOffset <= r.last:
		return nil, h, r.corrupt(fmt.Sprintf("offsets %d to %d after %d in a segment from %d on", h.BaseOffset, h.LastOffset(), r.last, r.s.Base()))
	}
	if err := r.want(h.SizeInBytes); err != nil {
		return nil, h, err
	}
	b := record.Batch(r.have[:h.SizeInBytes:h.SizeInBytes])
	if err := b.CheckCRC(); err != nil {
		return nil, h, r.locate(err)
	}
	r.have = r.have[h.SizeInBytes:]
	r.pos += int64(h.SizeInBytes)
	r.last = h.LastOffset()
	return b, h, nil
}

// want makes n bytes be there, or as many as the segment has.
func (r *reader) want(n int) error {
	n = int(min(int64(n), r.end-r.pos))
	if len(r.have) >= n {
		return nil
	}
	if n > len(r.buf) { // the size was compared with the file's
		bigger := make([]byte, n)
		copy(bigger, r.have)
		r.buf, r.have = bigger, bigger[:len(r.have)]
	} else {
		r.have = r.buf[:copy(r.buf, r.have)]
	}
	from := len(r.have)
	to := int(min(int64(len(r.buf)), r.end-r.pos))
	if err := r.pace(to - from); err != nil {
		return err
	}
	region, err := r.s.Region(r.pos+int64(from), to-from)
	if err != nil {
		return err
	}
	defer region.Release()
	if err := region.ReadInto(r.buf[from:to]); err != nil {
		return fmt.Errorf("%s: read at byte %d: %w", r.s.Path(), r.pos+int64(from), err)
	}
	r.read += int64(to - from)
	r.have = r.buf[:to]
	return nil
}

// locate says where a corrupt batch is.
func (r *reader) locate(err error) error {
	if c := (*record.CorruptError)(nil); errors.As(err, &c) {
		c.File, c.Position = r.s.Path(), r.pos
	}
	return err
}

func (r *reader) corrupt(reason string) error {
	return &record.CorruptError{File: r.s.Path(), Position: r.pos, Offset: record.NoOffset, Reason: reason}
}
