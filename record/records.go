package record

import (
	"bytes"
	"fmt"
	"io"
)

// Record is one record of a batch. Key, Value and header values are nil for null; an empty one is not nil.
type Record struct {
	Offset Offset
	// Timestamp is in ms; -1 none. Under LogAppendTime it is the batch's.
	Timestamp int64
	// OffsetDelta and TimestampDelta are as stored; 0 for magic 0 and 1.
	OffsetDelta    int32
	TimestampDelta int64
	// Attributes is the record's own byte: 0 in magic 2, unused by every release so far.
	Attributes int8
	// Sequence is -1 if the batch has none.
	Sequence   Sequence
	Key, Value []byte
	Headers    []RecordHeader
	// SizeInBytes is the stored size with the length field (magic 2) or the 12-byte prefix (magic 0 and 1),
	// before compression.
	SizeInBytes int
	// Legacy is set for magic 0 and 1.
	Legacy *LegacyFields
}

// RecordHeader is one header. Kafka does not allow a null key.
type RecordHeader struct {
	Key   string
	Value []byte
}

// LegacyFields is what a magic 0 or 1 message says of itself.
type LegacyFields struct {
	Magic int8
	CRC   uint32
	// CRCValid tells whether CRC is the checksum of the message's bytes.
	CRCValid bool
	// TimestampType is the wrapper's, for a message inside one.
	TimestampType TimestampType
}

// Records iterates over the records of a batch.
//
//	rs := batch.Records(0)
//	defer rs.Close()
//	for rs.Next() {
//		use(rs.Record())
//	}
//	return rs.Err()
//
// The records of an uncompressed batch point into it. Those of a compressed batch, and every Headers slice,
// are lent until the following Next; header keys are the reader's to keep.
type Records struct {
	header Header
	max    int
	n      int32 // records handed out
	rest   []byte
	stream *stream // of a compressed batch; nil once closed
	buf    []byte  // the current record of a compressed batch
	legacy *legacyReader
	record Record
	// previous and headers take turns as memory of record.Headers.
	previous, headers []RecordHeader
	err               error
	done              bool
}

// Records iterates over b, decompressing if need be. A record body above maxRecord bytes inside a compressed
// batch is an error that matches ErrInvalidRecord; maxRecord ≤ 0 stands for Kafka's default, 2^31-9. The CRC
// is not checked.
func (b Batch) Records(maxRecord int) *Records {
	rs := b.newRecords(maxRecord)
	if codec := rs.header.Codec(); rs.err == nil && rs.legacy == nil && codec != None {
		src, err := NewDecompressor(codec, rs.rest)
		if err != nil {
			return rs.fail(err)
		}
		rs.stream = newStream(src)
	}
	return rs
}

// RecordsIn is Records over a batch that Unpack has expanded to unpacked.
func (b Batch) RecordsIn(unpacked []byte, maxRecord int) *Records {
	rs := b.newRecords(maxRecord)
	if rs.err == nil && rs.legacy == nil {
		rs.stream = newStream(io.NopCloser(bytes.NewReader(unpacked)))
	}
	return rs
}

// newRecords is about to read b's records as they stand there.
func (b Batch) newRecords(maxRecord int) *Records {
	rs := &Records{max: recordLimit(maxRecord)}
	h, err := b.whole()
	if err != nil {
		return rs.fail(err)
	}
	rs.header = h
	if h.Magic < 2 {
		if rs.legacy, err = newLegacyReader(b, h, rs.max); err != nil {
			return rs.fail(err)
		}
		return rs
	}
	if h.Count < 0 {
		return rs.fail(invalid("record count is %d", h.Count))
	}
	rs.rest = b[HeaderSize:]
	return rs
}

// defaultMaxRecord is Kafka's default and upper bound of max.decompressed.message.bytes.
const defaultMaxRecord = 1<<31 - 9

func recordLimit(n int) int {
	if n <= 0 || n > defaultMaxRecord {
		return defaultMaxRecord
	}
	return n
}

func (rs *Records) fail(err error) *Records {
	rs.err = err
	rs.Close()
	return rs
}

// Next goes to the next record. It is false after the last one and when the batch turns out to be broken.
func (rs *Records) Next() bool {
	if rs.done {
		return false
	}
	if rs.legacy != nil {
		ok, err := rs.legacy.next(&rs.record)
		if err != nil {
			rs.fail(err)
		} else if !ok {
			rs.Close()
		}
		return ok && err == nil
	}
	if rs.n == rs.header.Count {
		if err := rs.checkEnd(); err != nil {
			rs.fail(err)
			return false
		}
		rs.Close()
		return false
	}
	body, size, err := rs.body()
	if err == nil {
		err = rs.set(body, size)
	}
	if err != nil {
		rs.fail(fmt.Errorf("record %d of batch at offset %d: %w", rs.n, rs.header.BaseOffset, err))
		return false
	}
	rs.n++
	return true
}

// body returns the next record's bytes behind its length, and its size with the length.
func (rs *Records) body() (body []byte, size int, err error) {
	if rs.stream != nil {
		return rs.streamedBody()
	}
	length, n := varint32(rs.rest)
	switch {
	case n == 0:
		return nil, 0, invalid("the batch ends before its last record")
	case length < 0 || int64(length) > int64(len(rs.rest)-n):
		return nil, 0, invalid("record length is %d, %d bytes are left", length, len(rs.rest)-n)
	}
	size = n + int(length)
	body = rs.rest[n:size:size]
	rs.rest = rs.rest[size:]
	return body, size, nil
}

func (rs *Records) streamedBody() (body []byte, size int, err error) {
	length, n := rs.stream.varint32()
	if err := rs.stream.failure(); n == 0 && err != nil {
		return nil, 0, err
	}
	switch {
	case n == 0:
		return nil, 0, invalid("the decompressed data ends before the last record")
	case length < 0:
		return nil, 0, invalid("record length is %d", length)
	case int(length) > rs.max:
		return nil, 0, invalid("record of %d bytes, at most %d are accepted", length, rs.max)
	}
	rs.buf = rs.stream.take(rs.buf, int(length))
	if len(rs.buf) < int(length) {
		if err := rs.stream.failure(); err != nil {
			return nil, 0, err
		}
		return nil, 0, invalid("record length is %d, %d bytes are left", length, len(rs.buf))
	}
	return rs.buf, n + int(length), nil
}

func (rs *Records) set(body []byte, size int) error {
	f, ok := parseFields(body)
	if !ok {
		return invalid("the fields do not fill its %d bytes", len(body))
	}
	rs.previous, rs.headers = rs.headers, rs.previous
	rs.headers = f.appendHeaders(rs.headers[:0], rs.previous)
	h := &rs.header
	rs.record = Record{
		Offset:         h.BaseOffset + Offset(f.offsetDelta),
		Timestamp:      h.recordTimestamp(f.timestampDelta),
		OffsetDelta:    f.offsetDelta,
		TimestampDelta: f.timestampDelta,
		Attributes:     f.attributes,
		Sequence:       h.recordSequence(f.offsetDelta),
		Key:            f.key,
		Value:          f.value,
		Headers:        rs.headers,
		SizeInBytes:    size,
	}
	return nil
}

func (h *Header) recordTimestamp(delta int64) int64 {
	if h.Attributes.TimestampType() == LogAppendTime {
		return h.MaxTimestamp
	}
	return h.BaseTimestamp + delta
}

func (h *Header) recordSequence(offsetDelta int32) Sequence {
	if h.BaseSequence < 0 {
		return NoSequence
	}
	return h.BaseSequence.Add(offsetDelta)
}

// checkEnd makes sure that nothing follows the last record.
func (rs *Records) checkEnd() error {
	if rs.stream == nil {
		if len(rs.rest) > 0 {
			return invalid("%d bytes follow the last of %d records", len(rs.rest), rs.header.Count)
		}
		return nil
	}
	if !rs.stream.atEnd() {
		return invalid("decompressed data follows the last of %d records", rs.header.Count)
	}
	return rs.stream.failure()
}

// Record is the current record.
func (rs *Records) Record() Record { return rs.record }

// Err is nil after all records were read, otherwise what is wrong: ErrInvalidRecord, ErrCorruptBatch or
// ErrDecompress by errors.Is.
func (rs *Records) Err() error { return rs.err }

// Close gives the decoder back. Next closes by itself at the end; Close may be called again.
func (rs *Records) Close() {
	rs.done = true
	if rs.stream != nil {
		rs.stream.close()
		rs.stream = nil
	}
	if rs.legacy != nil {
		rs.legacy.close()
		rs.legacy = nil
	}
}
