package producer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/samsalog/samsa/record"
)

// Layout of a snapshot file; all integers are big endian. Kafka: ProducerStateManager, ProducerSnapshot.json.
//
//	0   2  version, 1
//	2   4  CRC-32C of everything from byte 6 on
//	6   4  number of entries
//	10     entries of 46 bytes:
//	       0   8  producer id
//	       8   2  producer epoch
//	       10  4  last sequence, -1 none
//	       14  8  last data offset, -1 none
//	       22  4  last minus first offset of that batch
//	       26  8  last timestamp in ms
//	       34  4  coordinator epoch, -1 unknown
//	       38  8  first offset of the open transaction, -1 none
const (
	snapshotVersion    = 1
	snapshotHeaderSize = 10
	snapshotEntrySize  = 46
	snapshotCRCStart   = 6
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EncodeSnapshot returns the bytes of a snapshot file.
func EncodeSnapshot(entries []Entry) []byte {
	b := make([]byte, snapshotHeaderSize, snapshotHeaderSize+len(entries)*snapshotEntrySize)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[snapshotCRCStart:], uint32(len(entries)))
	for i := range entries {
		b = appendEntry(b, &entries[i])
	}
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[snapshotCRCStart:], castagnoli))
	return b
}

func appendEntry(b []byte, e *Entry) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(e.ProducerID))
	b = binary.BigEndian.AppendUint16(b, uint16(e.ProducerEpoch))
	b = binary.BigEndian.AppendUint32(b, uint32(e.LastSequence))
	b = binary.BigEndian.AppendUint64(b, uint64(e.LastOffset))
	b = binary.BigEndian.AppendUint32(b, uint32(e.OffsetDelta))
	b = binary.BigEndian.AppendUint64(b, uint64(e.LastTimestamp))
	b = binary.BigEndian.AppendUint32(b, uint32(e.CoordinatorEpoch))
	return binary.BigEndian.AppendUint64(b, uint64(e.CurrentTxnFirstOffset))
}

// DecodeSnapshot reads a snapshot file. Every way in which it can be wrong is a *record.CorruptError without file.
func DecodeSnapshot(b []byte) ([]Entry, error) {
	if len(b) < snapshotHeaderSize {
		return nil, badSnapshot("%d bytes, a snapshot has at least %d", len(b), snapshotHeaderSize)
	}
	if v := binary.BigEndian.Uint16(b); v != snapshotVersion {
		return nil, badSnapshot("version is %d, only %d is known", v, snapshotVersion)
	}
	if stored, sum := binary.BigEndian.Uint32(b[2:]), crc32.Checksum(b[snapshotCRCStart:], castagnoli); stored != sum {
		return nil, badSnapshot("stored CRC is %d, computed CRC is %d", stored, sum)
	}
	n := binary.BigEndian.Uint32(b[snapshotCRCStart:])
	rest := b[snapshotHeaderSize:]
	if n > math.MaxInt32 || int64(n)*snapshotEntrySize != int64(len(rest)) {
		return nil, badSnapshot("%d entries announced in %d bytes", int32(n), len(rest))
	}
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = entryAt(rest[i*snapshotEntrySize:])
	}
	return entries, nil
}

func entryAt(b []byte) Entry {
	_ = b[snapshotEntrySize-1]
	return Entry{
		ProducerID:            record.ProducerID(binary.BigEndian.Uint64(b)),
		ProducerEpoch:         record.ProducerEpoch(binary.BigEndian.Uint16(b[8:])),
		LastSequence:          record.Sequence(binary.BigEndian.Uint32(b[10:])),
		LastOffset:            record.Offset(binary.BigEndian.Uint64(b[14:])),
		OffsetDelta:           int32(binary.BigEndian.Uint32(b[22:])),
		LastTimestamp:         int64(binary.BigEndian.Uint64(b[26:])),
		CoordinatorEpoch:      int32(binary.BigEndian.Uint32(b[34:])),
		CurrentTxnFirstOffset: record.Offset(binary.BigEndian.Uint64(b[38:])),
	}
}

func badSnapshot(format string, args ...any) error {
	return &record.CorruptError{Position: -1, Offset: record.NoOffset, Reason: fmt.Sprintf(format, args...)}
}
