package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// NewDecompressor returns a reader of what src, one codec's stream, expands to. It borrows src until Close.
// Every error of Read but io.EOF matches ErrDecompress. Memory stays within the codec's window, however far
// src expands; the caller bounds what it keeps. Close gives the decoder back for reuse.
func NewDecompressor(c Codec, src []byte) (io.ReadCloser, error) {
	return newDecompressor(c, src, false)
}

// newDecompressor also knows magic 0, whose LZ4 frames have a wrong header checksum (KAFKA-3160).
func newDecompressor(c Codec, src []byte, magic0 bool) (io.ReadCloser, error) {
	var r io.ReadCloser
	var err error
	switch c {
	case None:
		r = io.NopCloser(bytes.NewReader(src))
	case Gzip:
		r = newGzipReader(src)
	case Snappy:
		r = newXerialReader(src)
	case LZ4:
		r = newLZ4Reader(src, magic0)
	case Zstd:
		r, err = newZstdReader(src)
	default:
		return nil, fmt.Errorf("%w: codec id %d", ErrDecompress, int8(c))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v: %w", ErrDecompress, c, err)
	}
	return &decompressor{c: c, r: r}, nil
}

// decompressor gives every codec's errors the same face.
type decompressor struct {
	c Codec
	r io.ReadCloser
}

func (d *decompressor) Read(p []byte) (int, error) {
	if d.r == nil {
		return 0, errors.New("record: read from a closed decompressor")
	}
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %v: %w", ErrDecompress, d.c, err)
	}
	return n, err
}

func (d *decompressor) Close() error {
	if d.r == nil {
		return nil
	}
	err := d.r.Close()
	d.r = nil
	return err
}

// Decompress returns what src expands to. More than maxBytes is an error that matches ErrDecompress;
// maxBytes ≤ 0 stands for 2^31-1.
func Decompress(c Codec, src []byte, maxBytes int) ([]byte, error) {
	if maxBytes <= 0 {
		maxBytes = maxBatchSize
	}
	r, err := NewDecompressor(c, src)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, int64(maxBytes)+1))
	if err != nil {
		return nil, err
	}
	if len(out) > maxBytes {
		return nil, fmt.Errorf("%w: %v: expands to more than %d bytes", ErrDecompress, c, maxBytes)
	}
	return out, nil
}

// Unpack appends to dst what the records of a compressed batch of magic 2 expand to, for RecordsIn. It does not go beyond dst's
// capacity: io.ErrShortBuffer says that this is not enough, and comes with dst, as all errors do. A decoder that needs more
// memory than those of ordinary producers is ErrDecompress too; Records reads such a batch.
func (b Batch) Unpack(dst []byte) ([]byte, error) {
	h, err := b.whole()
	if err != nil {
		return dst, err
	}
	src := b[min(HeaderSize, len(b)):]
	if h.Magic < 2 || h.Codec() == None || h.Codec() == Zstd && zstdWindow(src) > zstdSmallWindow {
		return dst, fmt.Errorf("%w: %v of magic %d is not unpacked at once", ErrDecompress, h.Codec(), h.Magic)
	}
	r, err := NewDecompressor(h.Codec(), src)
	if err != nil {
		return dst, err
	}
	defer r.Close()
	var behind [1]byte
	for out := dst; ; {
		free := out[len(out):cap(out)]
		full := len(free) == 0
		if full {
			free = behind[:]
		}
		n, err := r.Read(free)
		switch {
		case full && n > 0:
			return dst, io.ErrShortBuffer
		case err == io.EOF:
			return out[:len(out)+n], nil
		case err != nil:
			return dst, err
		}
		out = out[:len(out)+n]
	}
}

var gzipReaders sync.Pool

// gzipReader reads all members of src. As in Java, bytes behind a member that begin no other are ignored.
type gzipReader struct {
	src  bytes.Reader
	gz   gzip.Reader
	open bool // inside a member
	any  bool // a member was complete
}

func newGzipReader(src []byte) *gzipReader {
	r, ok := gzipReaders.Get().(*gzipReader)
	if !ok {
		r = new(gzipReader)
	}
	r.src.Reset(src)
	r.open, r.any = false, false
	return r
}

func (r *gzipReader) Read(p []byte) (int, error) {
	for {
		if !r.open {
			if err := r.gz.Reset(&r.src); err != nil {
				if r.any {
					return 0, io.EOF
				}
				return 0, noEOF(err)
			}
			r.gz.Multistream(false)
			r.open = true
		}
		n, err := r.gz.Read(p)
		if err == io.EOF {
			r.open, r.any, err = false, true, nil
			if n == 0 {
				continue
			}
		}
		return n, err
	}
}

// noEOF turns an end that comes too early into an error.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *gzipReader) Close() error {
	r.src.Reset(nil)
	gzipReaders.Put(r)
	return nil
}

const (
	// zstdSmallWindow is the largest window of ordinary producers (level 19 and below); decoders for it are
	// pooled.
	zstdSmallWindow = 8 << 20
	// zstdMaxWindow is what libzstd accepts unless told otherwise (window log 27), needed for level 22.
	zstdMaxWindow = 128 << 20
)

var zstdReaders sync.Pool

// decodeGate bounds how many compressed batches are validated at a time. A stream says itself, in a few
// bytes, how large a window it needs; the work is all computing, so more than one decoder per processor would
// only cost memory.
var decodeGate = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

type zstdReader struct {
	dec *zstd.Decoder
	src bytes.Reader
	// big: the window is above zstdSmallWindow, so the decoder does not go back to the pool.
	big bool
}

func newZstdReader(src []byte) (*zstdReader, error) {
	window := zstdWindow(src)
	if window > zstdMaxWindow {
		return nil, fmt.Errorf("window of %d bytes, at most %d are accepted", window, zstdMaxWindow)
	}
	var r *zstdReader
	if window > zstdSmallWindow {
		r = &zstdReader{big: true}
	} else if pooled, ok := zstdReaders.Get().(*zstdReader); ok {
		r = pooled
	} else {
		r = new(zstdReader)
	}
	if err := r.reset(src); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *zstdReader) reset(src []byte) error {
	r.src.Reset(src)
	if r.dec != nil {
		return r.dec.Reset(&r.src)
	}
	limit := uint64(zstdSmallWindow)
	if r.big {
		limit = zstdMaxWindow
	}
	dec, err := zstd.NewReader(&r.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(limit), zstd.WithDecodeBuffersBelow(0))
	r.dec = dec
	return err
}

func (r *zstdReader) Read(p []byte) (int, error) { return r.dec.Read(p) }

func (r *zstdReader) Close() error {
	r.src.Reset(nil)
	if r.big {
		if r.dec != nil {
			r.dec.Close()
		}
		return nil
	}
	zstdReaders.Put(r)
	return nil
}
