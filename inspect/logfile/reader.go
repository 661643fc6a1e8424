package logfile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// Reader walks the batches of a segment file, or of a part of it, one at a time.
//
//	r := logfile.NewReader(f, 0, size)
//	defer r.Close()
//	for r.Next() {
//		use(r.Header(), r.Batch())
//	}
//	if r.Err() != nil { … } // bytes that are no batch, or that cannot be read
//	tail := size - r.Position() // what lies behind the last whole batch
type Reader struct {
	// Depth is set before the first Next.
	Depth Depth
	window
	pos   int64 // of the next batch
	at    int64 // of the current one
	batch record.Batch
	head  record.Header
	err   error
	// unpacked is what the records of the batch expand to, if somebody has looked.
	unpacked []byte
	// valid is about the checksum, if known.
	valid, known bool
	// ahead reads large files; serial: it has met something that it cannot read, and rests up to byte serialTo.
	ahead    *pipeline
	serial   bool
	serialTo int64
}

// Depth is what a Reader is asked for.
type Depth int8

const (
	// Batches: headers and bytes.
	Batches Depth = iota
	// Headers: no bytes; checksums are checked all the same.
	Headers
	// Records: what is compressed is unpacked by the goroutines that read ahead.
	Records
)

// NewReader reads f from byte pos, where a batch begins, up to byte end.
func NewReader(f vfs.File, pos, end int64) *Reader {
	return &Reader{window: window{f: f, end: end, done: pos}, pos: pos, at: pos}
}

// minimumTail: this many bytes and fewer are never taken for a batch (FileLogInputStream).
const minimumTail = record.MagicOffset + 1

// Next goes to the next batch and reads it. It is false at the end, before a batch that crosses the end, and at what is no
// batch; then Err tells.
func (r *Reader) Next() bool {
	if r.err != nil {
		return false
	}
	if r.ahead == nil && !r.serial && r.end-r.pos >= pipelineFrom {
		r.ahead = newPipeline(r.f, r.pos, r.end, r.Depth)
	}
	if r.ahead != nil {
		if b := r.ahead.take(); b != nil {
			r.at, r.pos = b.start, b.start+int64(b.head.SizeInBytes)
			r.head, r.batch, r.unpacked, r.valid, r.known = b.head, b.bytes, b.unpacked, b.valid, true
			r.giveBack(r.at)
			return true
		}
		r.stopAhead()
		r.serialTo = r.pos + pieceSize
	}
	if !r.NextHeader() {
		return false
	}
	b, err := r.read(r.pos, r.head.SizeInBytes)
	if err != nil {
		r.err = err
		return false
	}
	if r.head.Magic > NewestMagic {
		b[record.MagicOffset] = NewestMagic // in this reader's memory; no CRC covers it
	}
	r.batch, r.unpacked, r.known = b, nil, false
	r.at = r.pos
	r.pos += int64(r.head.SizeInBytes)
	if r.serial && r.pos >= r.serialTo {
		r.serial = false
	}
	return true
}

// Valid reports whether the checksum of the batch that Next has read is right.
func (r *Reader) Valid() bool {
	if !r.known {
		r.valid, r.known = r.batch.CheckCRC() == nil, true
	}
	return r.valid
}

func (r *Reader) stopAhead() {
	if r.ahead != nil {
		r.ahead.close()
		r.ahead, r.serial = nil, true
	}
}

// NextHeader reads the header of the next batch without going past it: Next reads the rest of it, Skip passes it.
func (r *Reader) NextHeader() bool {
	left := r.end - r.pos
	if r.err != nil || left <= minimumTail {
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
		r.err = &record.CorruptError{File: r.f.Name(), Position: r.pos, Offset: record.NoOffset, Reason: err.Error()}
		return false
	}
	r.head = h
	return true
}

// Skip goes past the batch whose header NextHeader has read.
func (r *Reader) Skip() {
	r.at = r.pos
	r.pos += int64(r.head.SizeInBytes)
}

// Header is the current batch's. Its Magic is as stored.
func (r *Reader) Header() *record.Header { return &r.head }

// Batch is the batch that Next has read. It is lent until the next call. A reader of Headers has none.
func (r *Reader) Batch() record.Batch {
	if r.Depth == Headers {
		return nil
	}
	return r.batch
}

// Records iterates over the records of the batch that Next has read; see record.Batch.Records.
func (r *Reader) Records(maxRecord int) *record.Records {
	if r.unpacked != nil {
		return r.batch.RecordsIn(r.unpacked, maxRecord)
	}
	return r.Batch().Records(maxRecord)
}

// Start is where the current batch begins.
func (r *Reader) Start() int64 { return r.at }

// Position is where the next batch begins, or what stopped the walk.
func (r *Reader) Position() int64 { return r.pos }

// End is where reading stops.
func (r *Reader) End() int64 { return r.end }

// Err is why the walk stopped before the end: a *record.CorruptError for bytes that are no batch.
func (r *Reader) Err() error { return r.err }

// SetEnd goes on up to byte end, which is not before the old one: the file has grown.
func (r *Reader) SetEnd(end int64) {
	r.stopAhead()
	r.forget()
	r.end = end
}

// File is the file that is read.
func (r *Reader) File() vfs.File { return r.f }

// Rewind goes back to byte pos, where the walk is to go on.
func (r *Reader) Rewind(pos int64) {
	r.stopAhead()
	r.pos, r.err, r.serial, r.serialTo = pos, nil, true, pos+pieceSize
}

// Close ends the reading ahead. It does not close the file.
func (r *Reader) Close() { r.stopAhead() }

// lengthPosition is where every format has its length field.
const lengthPosition = 8

// NewestMagic is what a format that is newer than all that are known is read as. Kafka does so in files.
const NewestMagic = 2

func parseHeader(raw []byte) (record.Header, error) {
	magic := int8(raw[record.MagicOffset])
	if magic <= NewestMagic {
		return record.ParseHeader(raw)
	}
	var b [record.HeaderSize]byte
	n := copy(b[:], raw)
	b[record.MagicOffset] = NewestMagic
	h, err := record.ParseHeader(b[:n])
	h.Magic = magic
	return h, err
}

// Zeros reports whether only zero bytes are left.
func (r *Reader) Zeros() (bool, error) {
	for at := r.pos; at < r.end; {
		b, err := r.read(at, int(min(step, r.end-at)))
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

// Resync looks behind the bytes that stopped the walk for the next whole batch with a right checksum whose offsets lie in
// least … most, and goes on there. It returns false, at the end, when there is none.
func (r *Reader) Resync(least, most record.Offset) (bool, error) {
	for pos := r.pos + 1; pos+minimumTail < r.end; {
		n := int(min(resyncStep, r.end-pos))
		b, err := r.read(pos, n)
		if err != nil {
			return false, err
		}
		for i := 0; i+minimumTail < n; i++ {
			if !plausible(b[i:], least, most, r.end-pos-int64(i)) {
				continue
			}
			if ok, err := r.wholeAt(pos+int64(i), most); err != nil || ok {
				r.pos, r.err = pos+int64(i), err
				return ok, err
			}
			if b, err = r.read(pos, n); err != nil { // a read may have failed the window
				return false, err
			}
		}
		pos += int64(n) - minimumTail
	}
	r.pos, r.err = r.end, nil
	return false, nil
}

// resyncStep is how much of a file is searched at a time.
const resyncStep = 64 << 10

// plausible sorts out nearly all positions before a checksum is computed.
func plausible(b []byte, least, most record.Offset, left int64) bool {
	base, length := record.Offset(binary.BigEndian.Uint64(b)), int64(int32(binary.BigEndian.Uint32(b[lengthPosition:])))
	return b[record.MagicOffset] <= NewestMagic && base >= least && base <= most && length > 0 && length+record.LogOverhead <= left
}

func (r *Reader) wholeAt(pos int64, most record.Offset) (bool, error) {
	probe := NewReader(r.f, pos, r.end)
	probe.serial, probe.serialTo = true, r.end
	if !probe.Next() {
		if probe.err != nil && !errors.Is(probe.err, record.ErrCorruptBatch) {
			return false, probe.err
		}
		return false, nil
	}
	return probe.batch.CheckCRC() == nil && probe.head.LastOffset() <= most, nil
}

// errShrunk is a file that became shorter while it was read.
func errShrunk(at int64, n int, err error) error {
	return fmt.Errorf("read %d bytes at %d: %w", n, at, shrunk(err))
}
