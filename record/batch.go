package record

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is CRC-32C, which the processor computes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one whole batch with its 12-byte prefix: a view, not a copy. Batches come from a Scanner, a
// Builder, or a slice that ParseHeader accepted and that is Header.SizeInBytes long. On a slice that is no
// batch the accessors return zero values with Magic -1 and the checks return errors.
type Batch []byte

// Header decodes the fixed part.
func (b Batch) Header() Header {
	h, err := ParseHeader(b)
	if err != nil {
		return Header{BaseOffset: NoOffset, Magic: -1, LeaderEpoch: NoLeaderEpoch, BaseTimestamp: NoTimestamp,
			MaxTimestamp: NoTimestamp, ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch, BaseSequence: NoSequence}
	}
	return h
}

// whole decodes the header and makes sure that b is exactly the batch it announces.
func (b Batch) whole() (Header, error) {
	h, err := ParseHeader(b)
	switch {
	case err == ErrShort:
		return h, corrupt(NoOffset, "%d bytes are no whole batch", len(b))
	case err != nil:
		return h, err
	case h.SizeInBytes != len(b):
		return h, corrupt(h.BaseOffset, "batch of %d bytes in %d", h.SizeInBytes, len(b))
	}
	return h, nil
}

// BaseOffset is the first offset; of a legacy message its own, of a legacy wrapper that of its last message.
func (b Batch) BaseOffset() Offset { return b.Header().BaseOffset }

// LastOffset is the offset of the last record, or where it was before compaction.
func (b Batch) LastOffset() Offset { return b.Header().LastOffset() }

// LeaderEpoch is -1 for magic 0 and 1.
func (b Batch) LeaderEpoch() LeaderEpoch { return b.Header().LeaderEpoch }

// Magic is the format: 0, 1 or 2; -1 if b is no batch.
func (b Batch) Magic() int8 { return b.Header().Magic }

// Attributes are the flags; only the low byte means anything.
func (b Batch) Attributes() Attributes { return b.Header().Attributes }

// MaxTimestamp is the largest record timestamp, or the append time, in ms.
func (b Batch) MaxTimestamp() int64 { return b.Header().MaxTimestamp }

// ProducerID is -1 without idempotence.
func (b Batch) ProducerID() ProducerID { return b.Header().ProducerID }

// Count is the number of records; -1 if only decompression can tell (legacy wrapper).
func (b Batch) Count() int32 { return b.Header().Count }

// ComputeCRC returns the checksum that the stored one should equal; 0 if b is no batch.
func (b Batch) ComputeCRC() uint32 {
	h, err := b.whole()
	if err != nil {
		return 0
	}
	return b.crc(h.Magic)
}

func (b Batch) crc(magic int8) uint32 {
	if magic < 2 {
		return crc32.ChecksumIEEE(b[MagicOffset:])
	}
	return crc32.Checksum(b[posAttributes:], castagnoli)
}

// CheckCRC returns a *CorruptError if b is not a whole batch or its checksum does not match.
func (b Batch) CheckCRC() error {
	h, err := b.whole()
	if err != nil {
		return err
	}
	if !b.MatchesCRC(&h) {
		return corrupt(h.BaseOffset, "stored CRC is %d, computed CRC is %d", h.CRC, b.crc(h.Magic))
	}
	return nil
}

// MatchesCRC reports whether the checksum of b, which is as long as its header h says, is the one in h.
func (b Batch) MatchesCRC(h *Header) bool { return b.crc(h.Magic) == h.CRC }

// isV2 guards the setters: the older formats are never written.
func (b Batch) isV2() bool { return len(b) >= HeaderSize && b[MagicOffset] == 2 }

// SetBaseOffset writes the base offset, which no CRC covers.
func (b Batch) SetBaseOffset(o Offset) {
	if len(b) >= LogOverhead {
		binary.BigEndian.PutUint64(b, uint64(o))
	}
}

// SetLeaderEpoch writes the leader epoch of a magic 2 batch, which no CRC covers.
func (b Batch) SetLeaderEpoch(e LeaderEpoch) {
	if b.isV2() {
		binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(e))
	}
}

// SetMaxTimestamp sets timestamp type and maximum of a magic 2 batch and recomputes the CRC. It changes
// nothing if both are set so already.
func (b Batch) SetMaxTimestamp(t TimestampType, maxMs int64) {
	if !b.isV2() {
		return
	}
	old := Attributes(binary.BigEndian.Uint16(b[posAttributes:]))
	if old.TimestampType() == t && int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])) == maxMs {
		return
	}
	// Kafka clears the bits it does not know whenever it rewrites attributes.
	a := old & attrInterpreted &^ attrLogAppendTime
	if t == LogAppendTime {
		a |= attrLogAppendTime
	}
	binary.BigEndian.PutUint16(b[posAttributes:], uint16(a))
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(maxMs))
	b.updateCRC()
}

func (b Batch) updateCRC() { binary.BigEndian.PutUint32(b[posCRC:], b.crc(2)) }

// putHeader writes h as a magic 2 header, the CRC last, over b[:HeaderSize]; the length is len(b)'s.
func (b Batch) putHeader(h Header) {
	binary.BigEndian.PutUint64(b, uint64(h.BaseOffset))
	binary.BigEndian.PutUint32(b[posLength:], uint32(len(b)-LogOverhead))
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(h.LeaderEpoch))
	b[MagicOffset] = 2
	binary.BigEndian.PutUint16(b[posAttributes:], uint16(h.Attributes))
	binary.BigEndian.PutUint32(b[posLastOffsetDelta:], uint32(h.LastOffsetDelta))
	binary.BigEndian.PutUint64(b[posBaseTimestamp:], uint64(h.BaseTimestamp))
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(h.MaxTimestamp))
	binary.BigEndian.PutUint64(b[posProducerID:], uint64(h.ProducerID))
	binary.BigEndian.PutUint16(b[posProducerEpoch:], uint16(h.ProducerEpoch))
	binary.BigEndian.PutUint32(b[posBaseSequence:], uint32(h.BaseSequence))
	binary.BigEndian.PutUint32(b[posCount:], uint32(h.Count))
	b.updateCRC()
}

// NewEmptyBatch returns the 61 bytes that compaction leaves of a batch whose records are all gone but whose
// offsets or producer state must survive: count 0, no codec, base timestamp -1, no delete horizon; the
// maximum timestamp and the transactional and control bits stay.
func NewEmptyBatch(h Header) Batch {
	b := make(Batch, HeaderSize)
	h.Attributes &= attrInterpreted &^ (attrCodecMask | attrDeleteHorizon)
	h.BaseTimestamp = NoTimestamp
	h.Count = 0
	b.putHeader(h)
	return b
}
