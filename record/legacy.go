package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// legacyReader iterates over one magic 0 or 1 message: itself, or the messages inside a compressed wrapper.
// A wrapper is decompressed twice, first to find the last inner offset (and anything wrong), then to hand out,
// so that memory holds one message at a time.
type legacyReader struct {
	wrapper Header
	payload []byte // the wrapper's value
	max     int
	single  Batch // an uncompressed message, until it was handed out
	base    Offset
	stream  *stream
	buf     []byte
	fields  LegacyFields
}

func newLegacyReader(b Batch, h Header, max int) (*legacyReader, error) {
	r := &legacyReader{wrapper: h, max: max}
	if h.Codec() == None {
		r.single = b
		return r, nil
	}
	var m Record
	if err := r.parse(b, &m); err != nil {
		return nil, err
	}
	switch {
	case m.Value == nil:
		return nil, invalid("compressed message at offset %d has no value", h.BaseOffset)
	case h.Codec() == Zstd:
		return nil, invalid("zstd in a message of magic %d", h.Magic)
	}
	r.payload = m.Value
	last, err := r.scan()
	if err != nil {
		return nil, fmt.Errorf("inside the compressed message at offset %d: %w", h.BaseOffset, err)
	}
	if r.base, err = wrapperBase(h, last); err != nil {
		return nil, err
	}
	return r, r.open()
}

// wrapperBase is what to add to inner offsets. Magic 0 stores absolute ones. In magic 1 they are relative and
// the wrapper carries the last absolute one, or 0 when some old clients did not set it.
func wrapperBase(h Header, last Offset) (Offset, error) {
	if h.Magic == 0 || h.BaseOffset == 0 {
		return 0, nil
	}
	if h.BaseOffset < last {
		return 0, invalid("compressed message at offset %d holds the relative offset %d", h.BaseOffset, last)
	}
	return h.BaseOffset - last, nil
}

func (r *legacyReader) open() error {
	src, err := newDecompressor(r.wrapper.Codec(), r.payload, r.wrapper.Magic == 0)
	if err != nil {
		return err
	}
	r.stream = newStream(src)
	return nil
}

func (r *legacyReader) close() {
	if r.stream != nil {
		r.stream.close()
		r.stream = nil
	}
}

// scan reads all inner messages and returns the last one's stored offset.
func (r *legacyReader) scan() (Offset, error) {
	if err := r.open(); err != nil {
		return 0, err
	}
	defer r.close()
	last := NoOffset
	var m Record
	for found := false; ; found = true {
		raw, err := r.inner()
		if err != nil {
			return 0, err
		}
		if raw == nil {
			if !found {
				return 0, invalid("no message")
			}
			return last, nil
		}
		if err := r.parse(raw, &m); err != nil {
			return 0, err
		}
		if raw.Header().Codec() != None {
			return 0, invalid("a compressed message")
		}
		last = m.Offset
	}
}

// inner reads the next inner message; nil at the end. An incomplete last one is dropped, as in Kafka.
func (r *legacyReader) inner() (Batch, error) {
	r.buf = r.stream.take(r.buf, LogOverhead)
	if len(r.buf) < LogOverhead {
		return nil, r.incomplete()
	}
	length := int32(binary.BigEndian.Uint32(r.buf[posLength:]))
	if length < minLength {
		return nil, corrupt(NoOffset, "inner message: %v", corruptLength(length))
	}
	if int(length) > r.max {
		return nil, invalid("inner message of %d bytes, at most %d are accepted", length, r.max)
	}
	r.buf = r.stream.takeMore(r.buf, int(length))
	if len(r.buf) < LogOverhead+int(length) {
		return nil, r.incomplete()
	}
	return r.buf, nil
}

// incomplete is nil if the stream ended, also in the middle of a message, and an error if it broke.
func (r *legacyReader) incomplete() error {
	if err := r.stream.failure(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return nil
}

// next hands out one record.
func (r *legacyReader) next(out *Record) (bool, error) {
	if r.stream == nil {
		b := r.single
		if b == nil {
			return false, nil
		}
		r.single = nil
		return true, r.parse(b, out)
	}
	raw, err := r.inner()
	if err != nil || raw == nil {
		return false, err
	}
	if err := r.parse(raw, out); err != nil {
		return false, err
	}
	out.Offset += r.base
	if r.wrapper.Magic == 1 {
		r.fields.TimestampType = r.wrapper.TimestampType()
		if r.fields.TimestampType == LogAppendTime {
			out.Timestamp = r.wrapper.MaxTimestamp
		}
	}
	return true, nil
}

// parse reads one whole message.
func (r *legacyReader) parse(b Batch, out *Record) error {
	h, err := b.whole()
	if err != nil {
		return err
	}
	if h.Magic > 1 {
		return corrupt(h.BaseOffset, "message of magic %d inside one of magic %d", h.Magic, r.wrapper.Magic)
	}
	at := posLegacyV0Key
	if h.Magic == 1 {
		at = posLegacyV1Key
	}
	key, rest, ok := cutLegacy(b[at:])
	if !ok {
		return corrupt(h.BaseOffset, "the key does not fit into the message")
	}
	value, _, ok := cutLegacy(rest)
	if !ok {
		return corrupt(h.BaseOffset, "the value does not fit into the message")
	}
	r.fields = LegacyFields{Magic: h.Magic, CRC: h.CRC, CRCValid: b.crc(h.Magic) == h.CRC, TimestampType: h.TimestampType()}
	*out = Record{Offset: h.BaseOffset, Timestamp: h.MaxTimestamp, Attributes: int8(h.Attributes), Sequence: NoSequence,
		Key: key, Value: value, SizeInBytes: h.SizeInBytes, Legacy: &r.fields}
	return nil
}

// cutLegacy cuts an int32 length (negative: null) and that many bytes from b.
func cutLegacy(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	size := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	if size < 0 {
		return nil, b, true
	}
	if int64(size) > int64(len(b)) {
		return nil, nil, false
	}
	return b[:size:size], b[size:], true
}
