package record

import (
	"io"
	"slices"
	"sync"
)

// streamBuffer is the read-ahead of a stream.
const streamBuffer = 16 << 10

// stream reads varints and fields from a decompressor.
type stream struct {
	src  io.ReadCloser
	r, w int // buf[r:w] is read and not consumed
	err  error
	buf  [streamBuffer]byte
}

var streams sync.Pool

func newStream(src io.ReadCloser) *stream {
	s, ok := streams.Get().(*stream)
	if !ok {
		s = new(stream)
	}
	s.src, s.r, s.w, s.err = src, 0, 0, nil
	return s
}

// close gives stream and decompressor back.
func (s *stream) close() {
	if s.src != nil {
		s.src.Close() // reading is over; the decoders have nothing to report here
		s.src = nil
		streams.Put(s)
	}
}

// fill reads more into the buffer, keeping what is not consumed. It reports whether any byte came.
func (s *stream) fill() bool {
	if s.err != nil {
		return false
	}
	if s.r > 0 {
		s.w = copy(s.buf[:], s.buf[s.r:s.w])
		s.r = 0
	}
	for empty := 0; empty < 100; empty++ {
		n, err := s.src.Read(s.buf[s.w:])
		s.w += n
		s.err = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// peek returns at least n buffered bytes (n ≤ 10), or what is left before the end.
func (s *stream) peek(n int) []byte {
	for s.w-s.r < n && s.fill() {
	}
	return s.buf[s.r:s.w]
}

// atEnd reports whether no byte is left; failure tells a broken stream from a finished one.
func (s *stream) atEnd() bool { return len(s.peek(1)) == 0 }

// failure is the error that ended the stream; nil if it ended as it should, or has not ended.
func (s *stream) failure() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

// probe reads what still fits into the buffer and returns the stream's failure, if that shows one.
func (s *stream) probe() error {
	for (s.r > 0 || s.w < len(s.buf)) && s.fill() {
	}
	return s.failure()
}

// varint32 reads a varint; size is 0 when the stream ends inside it or it is too long.
func (s *stream) varint32() (n int32, size int) {
	n, size = varint32(s.peek(5))
	s.r += size
	return n, size
}

// skip drops n bytes and reports whether they were there.
func (s *stream) skip(n int64) bool {
	for n > 0 {
		if s.r == s.w && !s.fill() {
			return false
		}
		take := min(n, int64(s.w-s.r))
		s.r += int(take)
		n -= take
	}
	return true
}

// take reads n bytes into dst's memory, which grows only as bytes arrive. It is short if the stream ends.
func (s *stream) take(dst []byte, n int) []byte { return s.takeMore(dst[:0], n) }

// takeMore is take behind what dst holds already.
func (s *stream) takeMore(dst []byte, n int) []byte {
	for n > 0 {
		if s.r == s.w && !s.fill() {
			return dst
		}
		part := s.buf[s.r:s.w]
		if len(part) > n {
			part = part[:n]
		}
		if free := cap(dst) - len(dst); free < len(part) {
			dst = slices.Grow(dst, max(len(part), min(n, len(dst))))
		}
		dst = append(dst, part...)
		s.r += len(part)
		n -= len(part)
	}
	return dst
}
