package record

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Snappy in Kafka is the stream of xerial's snappy-java: a header, then chunks of a big-endian length and a
// raw snappy block. Some producers send one raw block without header; that is read too.

// xerialHeader is the magic, version 1 and the minimum version 1, all big endian.
var xerialHeader = [16]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

const (
	xerialMagicSize = 8
	// xerialBlock is how much input Kafka puts into one chunk.
	xerialBlock = 32 << 10
	// snappyMaxExpansion bounds the output of a raw block: the best element copies 64 bytes for 3.
	snappyMaxExpansion = 22
)

var errSnappy = errors.New("bad snappy data")

type xerialWriter struct {
	out  *sink
	fill int
	in   [xerialBlock]byte
}

var xerialWriters sync.Pool

func newXerialWriter(out *sink) *xerialWriter {
	w, ok := xerialWriters.Get().(*xerialWriter)
	if !ok {
		w = new(xerialWriter)
	}
	w.out, w.fill = out, 0
	out.b = append(out.b, xerialHeader[:]...)
	return w
}

func (w *xerialWriter) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		n := copy(w.in[w.fill:], p)
		w.fill += n
		p = p[n:]
		if w.fill == len(w.in) {
			w.flush()
		}
	}
	return total, nil
}

func (w *xerialWriter) flush() {
	if w.fill == 0 {
		return
	}
	start := len(w.out.b)
	need := 4 + s2.MaxEncodedLen(w.fill)
	b := append(w.out.b, make([]byte, need)...)
	block := s2.EncodeSnappy(b[start+4:], w.in[:w.fill])
	binary.BigEndian.PutUint32(b[start:], uint32(len(block)))
	w.out.b = b[:start+4+len(block)]
	w.fill = 0
}

func (w *xerialWriter) Close() error {
	w.flush()
	w.out = nil
	xerialWriters.Put(w)
	return nil
}

// xerialReader reads a xerial stream, or one raw block, block by block.
type xerialReader struct {
	src   []byte // what is not read yet
	raw   bool   // no header: src is one block
	block []byte // decoded and not yet handed out
	buf   []byte // memory of block, kept between streams
}

var xerialReaders sync.Pool

func newXerialReader(src []byte) *xerialReader {
	r, ok := xerialReaders.Get().(*xerialReader)
	if !ok {
		r = new(xerialReader)
	}
	*r = xerialReader{src: src, buf: r.buf}
	r.raw = len(src) < xerialMagicSize || [xerialMagicSize]byte(src) != [xerialMagicSize]byte(xerialHeader[:xerialMagicSize])
	return r
}

// maxKeptBlock is the largest buffer that goes back to the pool.
const maxKeptBlock = 1 << 20

func (r *xerialReader) Close() error {
	buf := r.buf
	if cap(buf) > maxKeptBlock {
		buf = nil
	}
	*r = xerialReader{buf: buf[:0]}
	xerialReaders.Put(r)
	return nil
}

func (r *xerialReader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// next decodes the next block into r.block.
func (r *xerialReader) next() error {
	if r.raw {
		block := r.src
		r.src, r.raw = nil, false
		if len(block) == 0 {
			return io.ErrUnexpectedEOF
		}
		return r.decode(block)
	}
	// A header stands in front, and again wherever streams were concatenated.
	for len(r.src) >= xerialMagicSize && [xerialMagicSize]byte(r.src) == [xerialMagicSize]byte(xerialHeader[:xerialMagicSize]) {
		if len(r.src) < len(xerialHeader) {
			return io.ErrUnexpectedEOF
		}
		r.src = r.src[len(xerialHeader):]
	}
	if len(r.src) < 4 { // the end; as in Java, too few bytes for a length are not looked at
		return io.EOF
	}
	size := int64(binary.BigEndian.Uint32(r.src))
	if size > int64(len(r.src)-4) {
		return io.ErrUnexpectedEOF
	}
	block := r.src[4 : 4+size]
	r.src = r.src[4+size:]
	return r.decode(block)
}

func (r *xerialReader) decode(block []byte) error {
	n, err := s2.DecodedLen(block)
	if err != nil || n > snappyMaxExpansion*len(block) || !plainSnappy(block) {
		return errSnappy
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	b, err := s2.Decode(r.buf[:cap(r.buf)], block)
	if err != nil {
		return errSnappy
	}
	r.block = b
	return nil
}

// plainSnappy reports whether the block's elements are snappy's own. The decoder also knows the extension of
// S2, a copy with offset 0, which no other Kafka client can read.
func plainSnappy(block []byte) bool {
	_, n := binary.Uvarint(block)
	if n <= 0 {
		return false
	}
	for b := block[n:]; len(b) > 0; {
		tag := b[0]
		var size int
		switch tag & 3 {
		case 0:
			size = 1 + literalSize(b)
		case 1:
			size = 2
			if len(b) >= 2 && tag>>5 == 0 && b[1] == 0 {
				return false
			}
		case 2:
			size = 3
			if len(b) >= 3 && b[1]|b[2] == 0 {
				return false
			}
		default:
			size = 5
			if len(b) >= 5 && b[1]|b[2]|b[3]|b[4] == 0 {
				return false
			}
		}
		if size <= 0 || size > len(b) {
			return false
		}
		b = b[size:]
	}
	return true
}

// literalSize is the number of bytes behind the tag of a literal element: its length bytes and its data.
func literalSize(b []byte) int {
	n := int(b[0] >> 2)
	if n < 60 {
		return n + 1
	}
	extra := n - 59
	if len(b) <= extra {
		return -1
	}
	n = 0
	for i := extra; i > 0; i-- {
		n = n<<8 | int(b[i])
	}
	return extra + n + 1
}
