package record

import (
	"encoding/binary"
	"fmt"
)

// Sizes and positions that all formats share. See docs/formats/record-batch.md for the byte tables.
const (
	// LogOverhead is offset and length, the prefix that every magic has; the length does not count it.
	LogOverhead = 12
	// MagicOffset is the position of the magic byte in every format.
	MagicOffset = 16
	// HeaderSize is the fixed part of a magic 2 batch; records follow.
	HeaderSize = 61
	// legacyV0Size and legacyV1Size are the smallest messages: null key, null value.
	legacyV0Size = 26
	legacyV1Size = 34
	// minLength is the smallest length field of any format, that of an empty magic 0 message.
	minLength = legacyV0Size - LogOverhead
	// headerUpToMagic is how many bytes it takes to know the format.
	headerUpToMagic = MagicOffset + 1
)

// Positions inside a magic 2 header.
const (
	posLength          = 8
	posLeaderEpoch     = 12
	posCRC             = 17
	posAttributes      = 21 // the CRC covers everything from here
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

// Positions inside a legacy message.
const (
	posLegacyCRC        = 12 // covers everything from the magic byte
	posLegacyAttributes = 17
	posLegacyV0Key      = 18
	posLegacyTimestamp  = 18
	posLegacyV1Key      = 26
)

// Attributes are the flags of a batch. Kafka reads only the low byte.
type Attributes int16

const (
	attrCodecMask     Attributes = 0x07
	attrLogAppendTime Attributes = 0x08
	attrTransactional Attributes = 0x10
	attrControl       Attributes = 0x20
	attrDeleteHorizon Attributes = 0x40
	attrInterpreted   Attributes = 0xff
)

// Codec returns bits 0 to 2; 5 to 7 are no codec (see Codec.Valid).
func (a Attributes) Codec() Codec { return Codec(a & attrCodecMask) }

// TimestampType returns bit 3.
func (a Attributes) TimestampType() TimestampType {
	if a&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional reports whether the batch belongs to a transaction.
func (a Attributes) IsTransactional() bool { return a&attrTransactional != 0 }

// IsControl reports whether the batch holds control records.
func (a Attributes) IsControl() bool { return a&attrControl != 0 }

// HasDeleteHorizon reports whether BaseTimestamp is a delete horizon (KIP-534).
func (a Attributes) HasDeleteHorizon() bool { return a&attrDeleteHorizon != 0 }

// Header is the fixed part of one batch (magic 2) or of one legacy message (magic 0 and 1).
// A legacy message has BaseOffset = LastOffset = its offset (a wrapper's is that of its last inner
// message), producer fields and leader epoch -1, and Count 1, or -1 for a compressed wrapper.
type Header struct {
	BaseOffset Offset
	// SizeInBytes is the whole batch with its 12-byte prefix.
	SizeInBytes int
	// LeaderEpoch is -1 in what a client sends; the leader sets it.
	LeaderEpoch LeaderEpoch
	Magic       int8
	// CRC is as stored, not computed: CRC-32C for magic 2, CRC-32 (IEEE) for magic 0 and 1.
	CRC        uint32
	Attributes Attributes
	// LastOffsetDelta is LastOffset - BaseOffset; compaction keeps it when records go.
	LastOffsetDelta int32
	// BaseTimestamp is what record deltas are relative to, or the delete horizon, in ms.
	BaseTimestamp int64
	// MaxTimestamp is the largest record timestamp, or the append time under LogAppendTime, in ms.
	MaxTimestamp  int64
	ProducerID    ProducerID
	ProducerEpoch ProducerEpoch
	BaseSequence  Sequence
	// Count is 0 only for a batch that compaction emptied.
	Count int32
}

// ParseHeader reads the header at the front of b: HeaderSize bytes for magic 2, 26 or 34 for magic 0 or 1,
// which is a whole message with null key and value. It returns ErrShort when b is too short to tell,
// and an error that matches ErrCorruptBatch when no batch can begin like this. It checks neither the CRC nor
// that the whole batch is there.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < headerUpToMagic {
		return Header{}, ErrShort
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < minLength || length > maxBatchSize-LogOverhead {
		return Header{}, corruptLength(length)
	}
	size := int(length) + LogOverhead
	switch magic := int8(b[MagicOffset]); magic {
	case 2:
		if size < HeaderSize {
			return Header{}, fmt.Errorf("%w: magic 2 batch of %d bytes, at least %d are possible", ErrCorruptBatch, size, HeaderSize)
		}
		if len(b) < HeaderSize {
			return Header{}, ErrShort
		}
		return parseV2(b, size), nil
	case 0, 1:
		return parseLegacy(b, size, magic)
	default:
		return Header{}, fmt.Errorf("%w: magic is %d, 0 to 2 are known", ErrCorruptBatch, magic)
	}
}

// maxBatchSize is Kafka's limit for anything it keeps in one buffer: 2^31-1.
const maxBatchSize = 1<<31 - 1

func corruptLength(length int32) error {
	return fmt.Errorf("%w: length field is %d, %d to %d are possible", ErrCorruptBatch, length, minLength, maxBatchSize-LogOverhead)
}

func parseV2(b []byte, size int) Header {
	_ = b[HeaderSize-1]
	return Header{
		BaseOffset:      Offset(binary.BigEndian.Uint64(b)),
		SizeInBytes:     size,
		LeaderEpoch:     LeaderEpoch(binary.BigEndian.Uint32(b[posLeaderEpoch:])),
		Magic:           2,
		CRC:             binary.BigEndian.Uint32(b[posCRC:]),
		Attributes:      Attributes(binary.BigEndian.Uint16(b[posAttributes:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(b[posLastOffsetDelta:])),
		BaseTimestamp:   int64(binary.BigEndian.Uint64(b[posBaseTimestamp:])),
		MaxTimestamp:    int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])),
		ProducerID:      ProducerID(binary.BigEndian.Uint64(b[posProducerID:])),
		ProducerEpoch:   ProducerEpoch(binary.BigEndian.Uint16(b[posProducerEpoch:])),
		BaseSequence:    Sequence(binary.BigEndian.Uint32(b[posBaseSequence:])),
		Count:           int32(binary.BigEndian.Uint32(b[posCount:])),
	}
}

func parseLegacy(b []byte, size int, magic int8) (Header, error) {
	if magic == 1 && size < legacyV1Size {
		return Header{}, fmt.Errorf("%w: magic 1 message of %d bytes, at least %d are possible", ErrCorruptBatch, size, legacyV1Size)
	}
	if len(b) < legacyV0Size || magic == 1 && len(b) < legacyV1Size {
		return Header{}, ErrShort
	}
	offset := Offset(binary.BigEndian.Uint64(b))
	h := Header{
		BaseOffset:    offset,
		SizeInBytes:   size,
		LeaderEpoch:   NoLeaderEpoch,
		Magic:         magic,
		CRC:           binary.BigEndian.Uint32(b[posLegacyCRC:]),
		Attributes:    Attributes(b[posLegacyAttributes]),
		BaseTimestamp: NoTimestamp,
		MaxTimestamp:  NoTimestamp,
		ProducerID:    NoProducerID,
		ProducerEpoch: NoProducerEpoch,
		BaseSequence:  NoSequence,
		Count:         1,
	}
	if magic == 1 {
		h.MaxTimestamp = int64(binary.BigEndian.Uint64(b[posLegacyTimestamp:]))
		h.BaseTimestamp = h.MaxTimestamp
	}
	if h.Codec() != None {
		h.Count = -1
	}
	return h, nil
}

// LastOffset is the offset of the last record, or where it was before compaction.
func (h Header) LastOffset() Offset { return h.BaseOffset + Offset(h.LastOffsetDelta) }

// NextOffset is LastOffset + 1.
func (h Header) NextOffset() Offset { return h.LastOffset() + 1 }

// LastSequence is the sequence of the last record; -1 when BaseSequence is.
func (h Header) LastSequence() Sequence {
	if h.BaseSequence == NoSequence {
		return NoSequence
	}
	return h.BaseSequence.Add(h.LastOffsetDelta)
}

// Codec is how the records are compressed. Magic 0 and 1 use the same bits.
func (h Header) Codec() Codec { return h.Attributes.Codec() }

// TimestampType is NoTimestampType for magic 0.
func (h Header) TimestampType() TimestampType {
	if h.Magic == 0 {
		return NoTimestampType
	}
	return h.Attributes.TimestampType()
}

// IsTransactional reports whether the batch belongs to a transaction (magic 2 only).
func (h Header) IsTransactional() bool { return h.Magic >= 2 && h.Attributes.IsTransactional() }

// IsControl reports whether the batch holds control records (magic 2 only).
func (h Header) IsControl() bool { return h.Magic >= 2 && h.Attributes.IsControl() }

// DeleteHorizon is the time from which tombstones and markers of the batch may be removed, in ms.
func (h Header) DeleteHorizon() (int64, bool) {
	if h.Magic < 2 || !h.Attributes.HasDeleteHorizon() {
		return 0, false
	}
	return h.BaseTimestamp, true
}

// HasProducerID reports whether the batch was written idempotently.
func (h Header) HasProducerID() bool { return h.ProducerID > NoProducerID }
