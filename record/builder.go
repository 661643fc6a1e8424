package record

// BuilderOptions says what the header of a new batch holds. Start from DefaultBuilderOptions: in several
// fields 0 means something else than "none".
type BuilderOptions struct {
	BaseOffset Offset
	Codec      Codec
	// Level means what Kafka's configuration of the codec means; see Codec.DefaultLevel.
	Level         int
	TimestampType TimestampType
	// LogAppendTimeMs is the batch's maximum timestamp if TimestampType is LogAppendTime.
	LogAppendTimeMs int64
	ProducerID      ProducerID
	ProducerEpoch   ProducerEpoch
	BaseSequence    Sequence
	Transactional   bool
	Control         bool
	LeaderEpoch     LeaderEpoch
	// DeleteHorizonMs becomes the base timestamp if it is ≥ 0 (KIP-534); -1 none.
	DeleteHorizonMs int64
}

// DefaultBuilderOptions is an uncompressed CreateTime batch at offset 0 without producer and leader epoch.
func DefaultBuilderOptions() BuilderOptions {
	return BuilderOptions{
		Level:           0,
		LogAppendTimeMs: NoTimestamp,
		ProducerID:      NoProducerID,
		ProducerEpoch:   NoProducerEpoch,
		BaseSequence:    NoSequence,
		LeaderEpoch:     NoLeaderEpoch,
		DeleteHorizonMs: NoTimestamp,
	}
}

// Builder makes one magic 2 batch, compressing as records come. It is used once, by one goroutine.
type Builder struct {
	options BuilderOptions
	header  Header
	out     sink // header, then the record area so far
	codec   compressor
	scratch []byte // one encoded record
	plain   int    // bytes of the records before compression
	err     error
	built   bool
}

// NewBuilder returns a Builder. An unknown codec counts as none.
func NewBuilder(o BuilderOptions) *Builder {
	if !o.Codec.Valid() {
		o.Codec = None
	}
	b := &Builder{options: o}
	b.out.b = make([]byte, HeaderSize, 512)
	b.codec, b.err = newCompressor(o.Codec, o.Level, &b.out)
	b.header = Header{
		BaseOffset:    o.BaseOffset,
		LeaderEpoch:   o.LeaderEpoch,
		Magic:         2,
		Attributes:    o.attributes(),
		BaseTimestamp: o.DeleteHorizonMs,
		MaxTimestamp:  NoTimestamp,
		ProducerID:    o.ProducerID,
		ProducerEpoch: o.ProducerEpoch,
		BaseSequence:  o.BaseSequence,
	}
	return b
}

func (o BuilderOptions) attributes() Attributes {
	a := Attributes(o.Codec)
	if o.TimestampType == LogAppendTime {
		a |= attrLogAppendTime
	}
	if o.Transactional {
		a |= attrTransactional
	}
	if o.Control {
		a |= attrControl
	}
	if o.DeleteHorizonMs >= 0 {
		a |= attrDeleteHorizon
	}
	return a
}

// Append adds a record at the next offset. Nil key and value mean null. Everything is copied.
func (b *Builder) Append(timestampMs int64, key, value []byte, headers []RecordHeader) {
	next := b.options.BaseOffset
	if b.header.Count > 0 {
		next = b.header.NextOffset()
	}
	b.AppendAt(next, timestampMs, key, value, headers)
}

// AppendAt adds a record at offset, which should be above that of the record before and less than 2^31 above
// BaseOffset.
func (b *Builder) AppendAt(offset Offset, timestampMs int64, key, value []byte, headers []RecordHeader) {
	if b.built {
		panic("record: Append after Build")
	}
	if b.header.Count == 0 && !b.header.Attributes.HasDeleteHorizon() {
		b.header.BaseTimestamp = timestampMs
	}
	delta := int32(offset - b.options.BaseOffset)
	b.header.LastOffsetDelta = delta
	b.header.Count++
	b.header.MaxTimestamp = max(b.header.MaxTimestamp, timestampMs)
	b.scratch = appendRecord(b.scratch[:0], timestampMs-b.header.BaseTimestamp, delta, key, value, headers)
	b.plain += len(b.scratch)
	if b.err == nil {
		_, b.err = b.codec.Write(b.scratch)
	}
}

// ExtendTo makes last the batch's last offset although its last record has a smaller one, as compaction does that keeps
// the range of offsets when records go. It does nothing if last is not above it.
func (b *Builder) ExtendTo(last Offset) {
	if last > b.header.LastOffset() {
		b.header.LastOffsetDelta = int32(last - b.header.BaseOffset)
	}
}

// appendRecord appends one encoded record with its length.
func appendRecord(dst []byte, timestampDelta int64, offsetDelta int32, key, value []byte, headers []RecordHeader) []byte {
	size := 1 + varintSize(timestampDelta) + varintSize(int64(offsetDelta)) + bytesSize(key) + bytesSize(value) +
		varintSize(int64(len(headers)))
	for i := range headers {
		size += varintSize(int64(len(headers[i].Key))) + len(headers[i].Key) + bytesSize(headers[i].Value)
	}
	dst = appendVarint(dst, int64(size))
	dst = append(dst, 0) // attributes: none are defined
	dst = appendVarint(dst, timestampDelta)
	dst = appendVarint(dst, int64(offsetDelta))
	dst = appendBytes(dst, key)
	dst = appendBytes(dst, value)
	dst = appendVarint(dst, int64(len(headers)))
	for i := range headers {
		dst = appendVarint(dst, int64(len(headers[i].Key)))
		dst = append(dst, headers[i].Key...)
		dst = appendBytes(dst, headers[i].Value)
	}
	return dst
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return appendVarint(dst, -1)
	}
	return append(appendVarint(dst, int64(len(b))), b...)
}

// Size is the size of the batch so far in bytes, as if it were not compressed.
func (b *Builder) Size() int { return HeaderSize + b.plain }

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.header.Count) }

// Build ends the batch and returns it, CRC and all. The Builder is done with; the batch is the caller's.
func (b *Builder) Build() Batch {
	batch, err := b.build()
	if err != nil {
		// Writing into memory fails in no codec; an error here is one in this package.
		panic("record: build batch: " + err.Error())
	}
	return batch
}

func (b *Builder) build() (Batch, error) {
	if !b.built {
		b.built = true
		if err := b.codec.Close(); b.err == nil {
			b.err = err
		}
		if b.header.Attributes.TimestampType() == LogAppendTime {
			b.header.MaxTimestamp = b.options.LogAppendTimeMs
		}
		if b.header.Count == 0 && !b.header.Attributes.HasDeleteHorizon() {
			b.header.BaseTimestamp = NoTimestamp
		}
		Batch(b.out.b).putHeader(b.header)
	}
	return b.out.b, b.err
}

// written is the size of the batch so far as compressed; codecs hold back up to a block.
func (b *Builder) written() int { return len(b.out.b) }
