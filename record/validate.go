package record

import (
	"fmt"
	"math"
)

// Validation is what a leader checks a batch against, and what it is to become (Kafka's LogValidator).
type Validation struct {
	// BaseOffset and LeaderEpoch belong to Checked.Assign; Inspect does not look at them.
	BaseOffset  Offset
	LeaderEpoch LeaderEpoch
	// Client applies the rules for what comes from clients; without it the batch is from a coordinator of this
	// broker (control batches allowed, count and offsets not compared).
	Client bool
	// NowMs is the time of the append in ms.
	NowMs         int64
	TimestampType TimestampType
	// BeforeMaxMs and AfterMaxMs bound how far a CreateTime timestamp may lie in the past and in the future.
	BeforeMaxMs, AfterMaxMs int64
	// Compacted: every record needs a key.
	Compacted bool
	// TargetCodec is what the batch is stored in, unless KeepCodec (compression.type=producer).
	TargetCodec Codec
	KeepCodec   bool
	// Level applies when the batch has to be compressed again; see Codec.DefaultLevel.
	Level int
	// MaxRecordBytes is max.decompressed.message.bytes, the largest record body in a compressed batch;
	// ≤ 0 stands for the default, 2^31-9.
	MaxRecordBytes int
	// MaxBatchBytes is max.message.bytes, for the batch as it came and as it is stored; 0 means no limit.
	MaxBatchBytes int
	// TopicPartition is named in messages.
	TopicPartition TopicPartition
}

// Checked is a batch that passed Inspect and waits for its offsets.
type Checked struct {
	// Batch is the given one, with timestamp type and maximum set in place, or a rebuilt one.
	Batch   Batch
	Rebuilt bool
	// MaxTimestamp is in ms; -1 if no record has a timestamp.
	MaxTimestamp int64
	// LogAppendTimeMs is -1 unless the timestamp type is LogAppendTime.
	LogAppendTimeMs int64
	Count           int32
}

// Validated is another name of Checked.
type Validated = Checked

// Inspect does the part of an append that needs no offset and can run outside any lock: sizes, CRC, the
// batch's and its records' rules, decompression, and recompression if the target codec differs. It may change
// timestamp type, maximum timestamp and CRC in place, in b.
//
// Errors, by errors.Is: ErrInvalidRecord (batch rules, broken records), ErrBatchTooLarge, ErrCorruptBatch
// (size, magic, CRC), ErrDecompress. A *RecordsError lists records without key and with a timestamp out of
// range; it matches ErrInvalidRecord or ErrInvalidTimestamp.
//
// Kept as sent, like in Kafka: offset deltas inside an uncompressed batch, unknown attribute bits while
// nothing else changes, the delete horizon bit, timestamps of -1.
func Inspect(b Batch, v Validation) (Checked, error) {
	h, err := b.shallow(v)
	if err != nil {
		return Checked{}, err
	}
	if v.Client {
		if err := v.checkBatch(h); err != nil {
			return Checked{}, err
		}
	}
	in := inspection{Validation: v, batch: b, header: h, max: NoTimestamp}
	source, target := h.Codec(), v.TargetCodec
	if v.KeepCodec || source == None && h.IsControl() {
		target = source
	}
	if source == None {
		err = in.uncompressed()
	} else {
		err = in.compressed()
	}
	switch {
	case err != nil:
		return Checked{}, err
	case source != target, source != None && in.misnumbered:
		return in.rebuild(target)
	default:
		return in.keep(), nil
	}
}

// shallow checks what needs no look at the records, in Kafka's order.
func (b Batch) shallow(v Validation) (Header, error) {
	h, err := b.whole()
	switch {
	case err != nil:
		return h, err
	case h.Magic < 2:
		return h, invalid("magic is %d; only magic 2 can be written", h.Magic)
	case v.Client && h.BaseOffset != 0:
		return h, invalid("the base offset of a batch in %v is %d, it should be 0", v.TopicPartition, h.BaseOffset)
	case v.MaxBatchBytes > 0 && h.SizeInBytes > v.MaxBatchBytes:
		return h, fmt.Errorf("%w: %d bytes in %v, at most %d are accepted", ErrBatchTooLarge, h.SizeInBytes, v.TopicPartition, v.MaxBatchBytes)
	}
	if sum := b.crc(2); sum != h.CRC {
		return h, corrupt(h.BaseOffset, "stored CRC is %d, computed CRC is %d, in %v", h.CRC, sum, v.TopicPartition)
	}
	if !h.Codec().Valid() {
		return h, fmt.Errorf("%w: codec id %d in %v", ErrDecompress, int8(h.Codec()), v.TopicPartition)
	}
	return h, nil
}

// checkBatch is what a client's batch header must satisfy.
func (v *Validation) checkBatch(h Header) error {
	span := int64(h.LastOffsetDelta) + 1
	switch {
	case span <= 0:
		return invalid("the offset range of a batch in %v is [%d, %d]", v.TopicPartition, h.BaseOffset, h.LastOffset())
	case h.Count <= 0:
		return invalid("the record count of a batch in %v is %d", v.TopicPartition, h.Count)
	case span != int64(h.Count):
		return invalid("a batch in %v has offsets [%d, %d] and %d records", v.TopicPartition, h.BaseOffset, h.LastOffset(), h.Count)
	case h.IsControl():
		return invalid("clients cannot write control records, in %v", v.TopicPartition)
	case h.HasProducerID() && h.BaseSequence < 0:
		return invalid("sequence is %d in a batch of producer id %d, in %v", h.BaseSequence, h.ProducerID, v.TopicPartition)
	}
	return nil
}

// inspection is the state of one Inspect.
type inspection struct {
	Validation
	batch  Batch
	header Header
	count  int32
	max    int64 // largest record timestamp
	plain  int64 // bytes of the records, decompressed
	// misnumbered: the offset deltas are not 0, 1, 2 …; a compressed batch is then encoded anew.
	misnumbered bool
	errors      []RecordError
	badTime     bool
}

// uncompressed checks the records in place. It allocates nothing unless one is refused (REC-3).
func (in *inspection) uncompressed() error {
	rest := in.batch[HeaderSize:]
	for in.count < in.header.Count {
		length, n := varint32(rest)
		if n == 0 || length < 0 || int64(length) > int64(len(rest)-n) {
			return in.broken("length field %d does not fit", length)
		}
		f, ok := parseFields(rest[n : n+int(length)])
		if !ok {
			return in.broken("fields do not fill its %d bytes", length)
		}
		rest = rest[n+int(length):]
		sizes := f.sizes()
		in.check(n+int(length), &sizes)
	}
	if len(rest) > 0 && in.header.Count > 0 {
		return invalid("%d bytes follow the last of %d records, in %v", len(rest), in.header.Count, in.TopicPartition)
	}
	return in.refused()
}

func (in *inspection) broken(format string, args ...any) error {
	return invalid("record %d of a batch in %v: %s", in.count, in.TopicPartition, fmt.Sprintf(format, args...))
}

// check applies the rules for one record of size bytes and counts it.
func (in *inspection) check(size int, r *sizes) {
	offset := in.header.BaseOffset + Offset(r.offsetDelta)
	timestamp := in.header.recordTimestamp(r.timestampDelta)
	if offset != Offset(in.count) {
		in.misnumbered = true
	}
	switch {
	case in.Compacted && r.keySize < 0:
		in.refuse("Compacted topic cannot accept message without key in topic partition %v", in.TopicPartition)
	case in.TimestampType == CreateTime && timestamp != NoTimestamp:
		if age := in.NowMs - timestamp; age > in.BeforeMaxMs || -age > in.AfterMaxMs {
			in.badTime = true
			in.refuse("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				timestamp, offset, in.NowMs-in.BeforeMaxMs, in.NowMs+in.AfterMaxMs)
		}
	case in.header.TimestampType() == LogAppendTime:
		in.badTime = true
		in.refuse("Invalid timestamp type in message DefaultRecord(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)."+
			" Producer should not set timestamp type to LogAppendTime.", offset, timestamp, max(r.keySize, 0), max(r.valueSize, 0))
	}
	in.max = max(in.max, timestamp)
	in.plain += int64(size)
	in.count++
}

func (in *inspection) refuse(format string, args ...any) {
	in.errors = append(in.errors, RecordError{Index: in.count, Message: fmt.Sprintf(format, args...)})
}

// refused is the error for the records that were refused; nil if there are none.
func (in *inspection) refused() error {
	if len(in.errors) == 0 {
		return nil
	}
	if in.badTime {
		return &RecordsError{Err: ErrInvalidTimestamp, Records: in.errors,
			Message: "One or more records have been rejected due to invalid timestamp"}
	}
	return &RecordsError{Err: ErrInvalidRecord, Records: in.errors,
		Message: fmt.Sprintf("One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: %v",
			len(in.errors), shownErrors(in.errors[:min(3, len(in.errors))]))}
}

// keep sets the timestamps in place and makes the result.
func (in *inspection) keep() Checked {
	c := in.result(in.batch)
	c.Batch.SetMaxTimestamp(in.TimestampType, c.MaxTimestamp)
	return c
}

func (in *inspection) result(b Batch) Checked {
	c := Checked{Batch: b, MaxTimestamp: in.max, LogAppendTimeMs: NoTimestamp, Count: in.count}
	if in.TimestampType == LogAppendTime {
		c.MaxTimestamp, c.LogAppendTimeMs = in.NowMs, in.NowMs
	}
	return c
}

// rebuild encodes the records anew, offsets counting from 0. They were checked before, so that a batch is
// refused for what is wrong with it before memory is spent on it.
func (in *inspection) rebuild(target Codec) (Checked, error) {
	limit := int64(math.MaxInt32)
	if in.MaxBatchBytes > 0 {
		limit = int64(in.MaxBatchBytes)
	}
	tooLarge := fmt.Errorf("%w: encoded anew for %v it has more than %d bytes", ErrBatchTooLarge, in.TopicPartition, limit)
	if target == None && in.plain+HeaderSize > limit {
		return Checked{}, tooLarge
	}
	if in.header.Codec() != None {
		decodeGate <- struct{}{}
		defer func() { <-decodeGate }()
	}
	builder := NewBuilder(in.rebuilt(target))
	rs := in.batch.Records(in.MaxRecordBytes)
	defer rs.Close()
	for rs.Next() {
		r := &rs.record
		builder.Append(r.Timestamp, r.Key, r.Value, r.Headers)
		if int64(builder.written()) > limit {
			return Checked{}, tooLarge
		}
	}
	if err := rs.Err(); err != nil {
		return Checked{}, err
	}
	b, err := builder.build()
	if err != nil {
		return Checked{}, err
	}
	if int64(len(b)) > limit {
		return Checked{}, tooLarge
	}
	c := in.result(b)
	c.Rebuilt = true
	return c, nil
}

// rebuilt is the header of the batch that rebuild makes.
func (in *inspection) rebuilt(target Codec) BuilderOptions {
	h, o := &in.header, DefaultBuilderOptions()
	o.Codec, o.Level = target, in.Level
	o.TimestampType, o.LogAppendTimeMs = in.TimestampType, in.NowMs
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = h.ProducerID, h.ProducerEpoch, h.BaseSequence
	o.Transactional = h.IsTransactional()
	return o
}

// Assign gives the batch its offsets, base to base+Count-1, and its leader epoch, in place, and returns it.
// It is cheap enough to be done under the log's lock: no CRC changes (REC-2).
func (c *Checked) Assign(base Offset, epoch LeaderEpoch) Batch {
	// As in Kafka the last offset is what is assigned; the two only differ if the count is not delta+1.
	h := c.Batch.Header()
	c.Batch.SetBaseOffset(base + Offset(c.Count) - 1 - Offset(h.LastOffsetDelta))
	c.Batch.SetLeaderEpoch(epoch)
	return c.Batch
}
