package record

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// Kafka reads and writes LZ4 frames with independent blocks, one frame, and looks at no content checksum.
// Its frames are read here in the same way, because general readers are stricter (content checksum) or wider
// (linked blocks, several frames) than what other Kafka clients take.

const (
	lz4Magic     = 0x184d2204
	lz4FLG       = 0x60 // version 01, independent blocks, no checksums, no content size
	lz4BD        = 0x40 // blocks of 64 KiB
	lz4HC        = 0x82 // header checksum of these two
	lz4Block     = 64 << 10
	lz4RawBlock  = 1 << 31 // set in a block's size: stored, not compressed
	lz4MaxBlocks = 7       // the largest block size id: 4 MiB
)

var errLZ4 = errors.New("bad lz4 frame")

type lz4Writer struct {
	out   *sink
	level int
	fill  int
	fast  lz4.Compressor
	high  lz4.CompressorHC
	in    [lz4Block]byte
}

var lz4Writers sync.Pool

func newLZ4Writer(level int, out *sink) *lz4Writer {
	w, ok := lz4Writers.Get().(*lz4Writer)
	if !ok {
		w = new(lz4Writer)
	}
	w.out, w.level, w.fill = out, level, 0
	out.b = append(out.b, 0x04, 0x22, 0x4d, 0x18, lz4FLG, lz4BD, lz4HC)
	return w
}

func (w *lz4Writer) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		n := copy(w.in[w.fill:], p)
		w.fill += n
		p = p[n:]
		if w.fill == len(w.in) {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// compress picks the compressor as Kafka does: its default level 9 is the fast one, every other level means
// high compression.
func (w *lz4Writer) compress(dst []byte) (int, error) {
	if w.level == DefaultLZ4Level {
		return w.fast.CompressBlock(w.in[:w.fill], dst)
	}
	w.high.Level = lz4.CompressionLevel(1 << (8 + max(1, min(w.level, 9))))
	return w.high.CompressBlock(w.in[:w.fill], dst)
}

func (w *lz4Writer) flush() error {
	if w.fill == 0 {
		return nil
	}
	start := len(w.out.b)
	b := append(w.out.b, make([]byte, 4+w.fill)...)
	n, err := w.compress(b[start+4:])
	if err != nil && !errors.Is(err, lz4.ErrInvalidSourceShortBuffer) {
		return err
	}
	size := uint32(n)
	if err != nil || n == 0 || n >= w.fill { // not smaller: stored as it is
		n = copy(b[start+4:], w.in[:w.fill])
		size = uint32(n) | lz4RawBlock
	}
	binary.LittleEndian.PutUint32(b[start:], size)
	w.out.b = b[:start+4+n]
	w.fill = 0
	return nil
}

func (w *lz4Writer) Close() error {
	err := w.flush()
	w.out.b = append(w.out.b, 0, 0, 0, 0)
	w.out = nil
	lz4Writers.Put(w)
	return err
}

// lz4Reader reads one frame block by block.
type lz4Reader struct {
	src           []byte
	magic0        bool // the frame is inside a magic 0 message, whose header checksum is wrong by tradition
	started       bool
	done          bool
	blockChecksum bool
	maxBlock      int
	block         []byte // decoded and not yet handed out
	buf           []byte // memory of block, kept between frames
}

// lz4MaxKept is the largest buffer that goes back to the pool: a batch of the usual largest size, a megabyte unpacked,
// fits.
const lz4MaxKept = 2 << 20

var lz4Readers sync.Pool

func newLZ4Reader(src []byte, magic0 bool) *lz4Reader {
	r, ok := lz4Readers.Get().(*lz4Reader)
	if !ok {
		r = new(lz4Reader)
	}
	*r = lz4Reader{src: src, magic0: magic0, buf: r.buf}
	return r
}

func (r *lz4Reader) Close() error {
	buf := r.buf
	if cap(buf) > lz4MaxKept {
		buf = nil
	}
	*r = lz4Reader{buf: buf}
	lz4Readers.Put(r)
	return nil
}

func (r *lz4Reader) Read(p []byte) (int, error) {
	if !r.started {
		if err := r.header(); err != nil {
			return 0, err
		}
		r.started = true
	}
	for len(r.block) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// header reads magic, flags and block size, and checks the header checksum (but in magic 0).
func (r *lz4Reader) header() error {
	const fixed = 7
	if len(r.src) < fixed {
		return io.ErrUnexpectedEOF
	}
	flg, bd := r.src[4], r.src[5]
	sizeID := int(bd >> 4 & 7)
	switch {
	case binary.LittleEndian.Uint32(r.src) != lz4Magic,
		flg>>6 != 1,   // version
		flg&0x20 == 0, // linked blocks
		flg&0x03 != 0, // reserved, dictionary id
		bd&0x8f != 0,  // reserved
		sizeID < 4,    // block size ids that do not exist
		sizeID > lz4MaxBlocks:
		return errLZ4
	}
	end := fixed - 1
	if flg&0x08 != 0 { // content size, which nobody needs
		end += 8
	}
	if len(r.src) <= end {
		return io.ErrUnexpectedEOF
	}
	if !r.magic0 && r.src[end] != byte(xxh32(r.src[4:end])>>8) {
		return errLZ4
	}
	r.blockChecksum = flg&0x10 != 0
	r.maxBlock = 1 << (8 + 2*sizeID)
	r.src = r.src[end+1:]
	return nil
}

// next decodes the next block into r.block; io.EOF at the end mark. What follows it is not looked at.
func (r *lz4Reader) next() error {
	if r.done {
		return io.EOF
	}
	if len(r.src) < 4 {
		return io.ErrUnexpectedEOF
	}
	word := binary.LittleEndian.Uint32(r.src)
	r.src = r.src[4:]
	if word == 0 {
		r.done = true
		return io.EOF
	}
	size := int(word &^ lz4RawBlock)
	if size > r.maxBlock {
		return errLZ4
	}
	need := size
	if r.blockChecksum {
		need += 4
	}
	if need > len(r.src) {
		return io.ErrUnexpectedEOF
	}
	stored := r.src[:size]
	if r.blockChecksum && binary.LittleEndian.Uint32(r.src[size:]) != xxh32(stored) {
		return errLZ4
	}
	r.src = r.src[need:]
	if word&lz4RawBlock != 0 {
		r.block = stored
		return nil
	}
	return r.decode(stored)
}

// lz4MaxExpansion bounds the output of a block: one byte of a match length stands for 255 bytes.
const lz4MaxExpansion = 255

// lz4FirstGuess is the expansion that is tried first. A frame says only the largest size of its blocks, 4 MiB in what most
// clients write, while batches are often smaller than 64 KiB; clearing the difference for each batch cost ten times as
// much as unpacking it.
const lz4FirstGuess = 4

// decode unpacks a block. The buffer grows by twos while the block does not fit, up to its largest size and only as far as
// the stored bytes could fill it (REC-1). The library does not tell a short buffer from damage, so damage is tried in all.
func (r *lz4Reader) decode(stored []byte) error {
	most := min(r.maxBlock, lz4MaxExpansion*len(stored)+16)
	for size := min(most, max(cap(r.buf), lz4FirstGuess*len(stored), lz4Block)); ; size = min(most, 2*size) {
		if cap(r.buf) < size {
			r.buf = make([]byte, size)
		}
		n, err := lz4.UncompressBlock(stored, r.buf[:size])
		if err == nil && n >= 0 {
			r.block = r.buf[:n]
			return nil
		}
		if size == most {
			return errLZ4
		}
	}
}
