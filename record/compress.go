package record

import (
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// sink collects what a compressor writes.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

// compressor writes one codec's stream into a sink. Close ends the stream and gives the compressor back to
// its pool; nothing may be called after it.
type compressor interface {
	io.Writer
	Close() error
}

// newCompressor returns a compressor for c that appends to out. An out of range level counts as the nearest
// one that exists.
func newCompressor(c Codec, level int, out *sink) (compressor, error) {
	switch c {
	case None:
		return plain{out}, nil
	case Gzip:
		return newGzipWriter(level, out), nil
	case Snappy:
		return newXerialWriter(out), nil
	case LZ4:
		return newLZ4Writer(level, out), nil
	case Zstd:
		return newZstdWriter(level, out), nil
	default:
		return nil, fmt.Errorf("%w: %v", ErrUnsupportedCodec, c)
	}
}

// Compress appends src, compressed with c, to dst: one stream in the form that Kafka writes. level means
// what Kafka's configuration of that codec means; see Codec.DefaultLevel.
func Compress(dst []byte, c Codec, level int, src []byte) ([]byte, error) {
	out := &sink{b: dst}
	w, err := newCompressor(c, level, out)
	if err != nil {
		return dst, err
	}
	if _, err = w.Write(src); err == nil {
		err = w.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("compress %v: %w", c, err)
	}
	return out.b, nil
}

// plain is no compression.
type plain struct{ *sink }

func (plain) Close() error { return nil }

// gzipWriters is indexed by level+1: -1 (the library's default) to 9.
var gzipWriters [11]sync.Pool

type gzipWriter struct {
	*gzip.Writer
	out   *sink
	start int
	level int
}

func newGzipWriter(level int, out *sink) *gzipWriter {
	level = max(-1, min(level, 9))
	if level == 0 {
		level = 1
	}
	w, ok := gzipWriters[level+1].Get().(*gzipWriter)
	if !ok {
		zw, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic("record: gzip level " + err.Error()) // the level is in range
		}
		w = &gzipWriter{Writer: zw, level: level}
	}
	w.out, w.start = out, len(out.b)
	w.Reset(out)
	return w
}

// gzipHeader is what Java writes at every level: deflate, no flags, no time, unknown system.
var gzipHeader = [10]byte{0x1f, 0x8b, 8, 9: 0xff}

func (w *gzipWriter) Close() error {
	err := w.Writer.Close()
	if err == nil {
		copy(w.out.b[w.start:], gzipHeader[:])
	}
	w.out = nil
	w.Reset(nil)
	gzipWriters[w.level+1].Put(w)
	return err
}

// zstdClass is one kind of encoder: the effort, and the window that libzstd uses at the same level when the
// content size is not known, because readers must hold a window of that size.
type zstdClass struct {
	level     zstd.EncoderLevel
	windowLog int
}

const (
	zstdMinWindowLog = 19
	// zstdMaxWindowLog is where this encoder stops gaining; libzstd goes up to 27 at level 22.
	zstdMaxWindowLog = 23
)

func zstdClassOf(level int) zstdClass {
	c := zstdClass{level: zstd.EncoderLevelFromZstd(level)}
	switch {
	case level <= 1 && level != 0:
		c.windowLog = 19
	case level == 2:
		c.windowLog = 20
	case level <= 8:
		c.windowLog = 21
	case level <= 16:
		c.windowLog = 22
	default:
		c.windowLog = zstdMaxWindowLog
	}
	if level == 0 { // libzstd: 0 means the default
		c.level = zstd.SpeedDefault
	}
	return c
}

// zstdWriters is indexed by effort and window.
var zstdWriters [zstd.SpeedBestCompression + 1][zstdMaxWindowLog - zstdMinWindowLog + 1]sync.Pool

func (c zstdClass) pool() *sync.Pool { return &zstdWriters[c.level][c.windowLog-zstdMinWindowLog] }

type zstdWriter struct {
	*zstd.Encoder
	class zstdClass
	out   *sink
	start int
}

func newZstdWriter(level int, out *sink) *zstdWriter {
	class := zstdClassOf(level)
	w, ok := class.pool().Get().(*zstdWriter)
	if !ok {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(class.level), zstd.WithWindowSize(1<<class.windowLog),
			zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			panic("record: zstd encoder options: " + err.Error()) // they are constants
		}
		w = &zstdWriter{Encoder: enc, class: class}
	}
	w.out, w.start = out, len(out.b)
	w.Reset(out)
	return w
}

func (w *zstdWriter) Close() error {
	err := w.Encoder.Close()
	if err == nil {
		w.out.b = streamedZstdHeader(w.out.b, w.start, w.class.windowLog)
	}
	w.out = nil
	w.Reset(nil)
	w.class.pool().Put(w)
	return err
}

// streamedZstdHeader replaces the header of the frame at b[start:] by the one of a streamed frame: a window
// instead of the content size. The encoder writes the size when everything fitted into one block; Kafka's
// never does, and a reader that was built against Kafka may rely on that.
func streamedZstdHeader(b []byte, start, windowLog int) []byte {
	old, err := parseZstdHeader(b[start:])
	if err != nil {
		return b
	}
	header := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, byte(windowLog-10) << 3}
	if old.size < len(header) {
		b = append(b, make([]byte, len(header)-old.size)...)
		copy(b[start+len(header):], b[start+old.size:])
	} else {
		b = append(b[:start+len(header)], b[start+old.size:]...)
	}
	copy(b[start:], header)
	return b
}
