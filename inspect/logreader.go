package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// logReader walks the batches of a segment file from a position to an end, one at a time.
type logReader struct {
	f     vfs.File
	pos   int64 // of the next batch
	end   int64
	batch record.Batch
	head  record.Header
	err   error
	// ahead holds bytes that were read with the header before, starting at aheadAt.
	ahead   []byte
	aheadAt int64
	buf     []byte
}

// readAhead is how much is read at a time; batches above it are read by themselves.
const readAhead = 256 << 10

// newLogReader reads f from byte pos up to byte end.
func newLogReader(f vfs.File, pos, end int64) *logReader {
	return &logReader{f: f, pos: pos, end: end}
}

// kafkaMinimumTail: this many bytes and fewer are never taken for a batch (FileLogInputStream).
const kafkaMinimumTail = record.MagicOffset + 1

// next goes to the next batch. It is false at the end, before a batch that crosses the end, and at what is no
// batch; then err tells.
func (r *logReader) next() bool {
	if !r.nextHeader() {
		return false
	}
	b, err := r.read(r.pos, r.head.SizeInBytes)
	if err != nil {
		r.err = err
		return false
	}
	if r.head.Magic > newestMagic {
		b[record.MagicOffset] = newestMagic // in this reader's memory; no CRC covers it
	}
	r.batch = b
	r.pos += int64(r.head.SizeInBytes)
	return true
}

// nextHeader reads the header of the next batch without going past it; see next.
func (r *logReader) nextHeader() bool {
	left := r.end - r.pos
	if r.err != nil || left <= kafkaMinimumTail {
		return false
	}
	raw, err := r.read(r.pos, int(min(left, record.HeaderSize)))
	if err != nil {
		r.err = err
		return false
	}
	if length := int32(binary.BigEndian.Uint32(raw[lengthPosition:])); int64(length)+record.LogOverhead > left {
		return false
	}
	h, err := parseHeader(raw)
	switch {
	case errors.Is(err, record.ErrShort):
		return false
	case err != nil:
		r.err = &record.CorruptError{Position: r.pos, Offset: record.NoOffset, Reason: err.Error()}
		return false
	}
	r.head = h
	return true
}

// lengthPosition is where every format has its length field.
const lengthPosition = 8

// newestMagic is what a format that is newer than all that are known is read as. Kafka does so in files.
const newestMagic = 2

func parseHeader(raw []byte) (record.Header, error) {
	magic := int8(raw[record.MagicOffset])
	if magic <= newestMagic {
		return record.ParseHeader(raw)
	}
	var b [record.HeaderSize]byte
	n := copy(b[:], raw)
	b[record.MagicOffset] = newestMagic
	h, err := record.ParseHeader(b[:n])
	h.Magic = magic
	return h, err
}

// zeros reports whether only zero bytes are left.
func (r *logReader) zeros() (bool, error) {
	for at := r.pos; at < r.end; {
		b, err := r.read(at, int(min(readAhead, r.end-at)))
		if err != nil {
			return false, err
		}
		for _, c := range b {
			if c != 0 {
				return false, nil
			}
		}
		at += int64(len(b))
	}
	return true, nil
}

// skip goes to the next batch without reading it.
func (r *logReader) skip() { r.pos += int64(r.head.SizeInBytes) }

// read returns n bytes from position at; they are lent until the next call.
func (r *logReader) read(at int64, n int) ([]byte, error) {
	if from := at - r.aheadAt; from >= 0 && from+int64(n) <= int64(len(r.ahead)) {
		return r.ahead[from : from+int64(n) : from+int64(n)], nil
	}
	want := max(n, int(min(readAhead, r.end-at)))
	if cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	r.buf = r.buf[:want]
	got, err := r.f.ReadAt(r.buf, at)
	if got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the file shrank meanwhile
		}
		return nil, fmt.Errorf("read %d bytes at %d: %w", n, at, err)
	}
	r.ahead, r.aheadAt = r.buf[:got], at
	return r.ahead[:n:n], nil
}
