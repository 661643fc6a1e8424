package record

import (
	"errors"
	"fmt"
	"strings"
)

// compressed checks the records of a compressed batch while they stream by; keys and values are skipped.
func (in *inspection) compressed() error {
	if in.header.Count == 0 {
		return nil
	}
	decodeGate <- struct{}{}
	defer func() { <-decodeGate }()
	src, err := NewDecompressor(in.header.Codec(), in.batch[HeaderSize:])
	if err != nil {
		return err
	}
	s := newStream(src)
	defer s.close()
	limit := recordLimit(in.MaxRecordBytes)
	for in.count < in.header.Count {
		if err := in.streamed(s, limit); err != nil {
			return err
		}
	}
	if !s.atEnd() {
		if err := s.probe(); err != nil {
			return err
		}
		return invalid("decompressed data follows the last of %d records, in %v", in.header.Count, in.TopicPartition)
	}
	if err := s.failure(); err != nil {
		return err
	}
	return in.refused()
}

// streamed checks one record.
func (in *inspection) streamed(s *stream, limit int) error {
	err := in.parseStreamed(s, limit)
	if err != nil && errors.Is(err, ErrInvalidRecord) {
		// Data that makes no sense may be the first sign of a stream that is broken a little further on.
		if broken := s.probe(); broken != nil {
			return broken
		}
	}
	return err
}

func (in *inspection) parseStreamed(s *stream, limit int) error {
	length, n := s.varint32()
	switch {
	case n == 0:
		return in.ended(s)
	case length < 0:
		return in.broken("length is %d", length)
	case int(length) > limit:
		return in.broken("%d bytes, at most %d are accepted", length, limit)
	}
	if b := s.window(int(length)); b != nil {
		f, ok := parseFields(b)
		if !ok {
			return in.broken("fields do not fill its %d bytes", length)
		}
		s.r += int(length)
		sizes := f.sizes()
		in.check(n+int(length), &sizes)
		return nil
	}
	body := bodyReader{s: s, left: int64(length)}
	f, ok := body.fields()
	if !ok {
		if body.left > 0 && s.r == s.w {
			return in.ended(s)
		}
		return in.broken("fields do not fill its %d bytes", length)
	}
	in.check(n+int(length), &f)
	return nil
}

// ended tells why a stream has no more bytes where a record should be.
func (in *inspection) ended(s *stream) error {
	if err := s.failure(); err != nil {
		return err
	}
	return in.broken("the decompressed data ends before it does")
}

// window returns the next n bytes if they fit into the buffer and are there; nil otherwise. They are not
// consumed.
func (s *stream) window(n int) []byte {
	if n > len(s.buf) {
		return nil
	}
	for s.w-s.r < n {
		if !s.fill() {
			return nil
		}
	}
	return s.buf[s.r : s.r+n : s.r+n]
}

// bodyReader reads a record body that is larger than the stream's buffer.
type bodyReader struct {
	s    *stream
	left int64 // bytes of the body not read yet
}

// fields reads the whole body; false if the fields do not fill it exactly.
func (r *bodyReader) fields() (f sizes, ok bool) {
	if ok = r.skip(1); !ok { // attributes
		return f, false
	}
	delta, n := varint64(r.peek(10))
	if !r.consume(n) {
		return f, false
	}
	f.timestampDelta = delta
	if f.offsetDelta, ok = r.varint(); !ok {
		return f, false
	}
	if f.keySize, ok = r.skipBytes(); !ok {
		return f, false
	}
	if f.valueSize, ok = r.skipBytes(); !ok {
		return f, false
	}
	headers, ok := r.varint()
	if !ok || headers < 0 || int64(headers) > r.left {
		return f, false
	}
	for range headers {
		size, ok := r.varint()
		if !ok || size < 0 || !r.skip(int64(size)) {
			return f, false
		}
		if _, ok := r.skipBytes(); !ok {
			return f, false
		}
	}
	return f, r.left == 0
}

func (r *bodyReader) peek(n int) []byte {
	b := r.s.peek(n)
	if int64(len(b)) > r.left {
		b = b[:r.left]
	}
	return b
}

func (r *bodyReader) consume(n int) bool {
	r.s.r += n
	r.left -= int64(n)
	return n > 0
}

func (r *bodyReader) varint() (int32, bool) {
	v, n := varint32(r.peek(5))
	return v, r.consume(n)
}

func (r *bodyReader) skip(n int64) bool {
	if n > r.left || !r.s.skip(n) {
		return false
	}
	r.left -= n
	return true
}

// skipBytes reads a length (negative: null, reported as -1) and skips that many bytes.
func (r *bodyReader) skipBytes() (int, bool) {
	size, ok := r.varint()
	if !ok {
		return 0, false
	}
	if size < 0 {
		return -1, true
	}
	return int(size), r.skip(int64(size))
}

// shownErrors prints like the list of Kafka's record errors.
type shownErrors []RecordError

func (e shownErrors) String() string {
	parts := make([]string, len(e))
	for i, r := range e {
		parts[i] = fmt.Sprintf("RecordError(batchIndex=%d, message=%s)", r.Index, quoted(r.Message))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func quoted(s string) string { return "'" + s + "'" }
