package logfile

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// Sizes of index entries in bytes; see docs/formats/index.md.
const (
	OffsetEntrySize = 8
	TimeEntrySize   = 12
	TxnEntrySize    = 34
)

// OffsetEntry is an entry of an offset index: a batch with last offset Offset begins at byte Position.
type OffsetEntry struct {
	Offset   int64
	Position int32
}

// TimeEntry is an entry of a time index: no record before Offset has a larger timestamp, in ms.
type TimeEntry struct {
	Timestamp, Offset int64
}

// AbortedEntry is an entry of a transaction index; only version 0 is known.
type AbortedEntry struct {
	Version int16
	index.AbortedTxn
}

// ParseOffsetEntry reads the entry in the first 8 bytes of raw, of a segment that begins at base.
func ParseOffsetEntry(base int64, raw []byte) OffsetEntry {
	return OffsetEntry{Offset: base + int64(int32(binary.BigEndian.Uint32(raw))), Position: int32(binary.BigEndian.Uint32(raw[4:]))}
}

// ParseTimeEntry reads the entry in the first 12 bytes of raw, of a segment that begins at base.
func ParseTimeEntry(base int64, raw []byte) TimeEntry {
	return TimeEntry{Timestamp: int64(binary.BigEndian.Uint64(raw)), Offset: base + int64(int32(binary.BigEndian.Uint32(raw[8:])))}
}

// ParseAbortedEntry reads the entry in the first 34 bytes of raw.
func ParseAbortedEntry(raw []byte) AbortedEntry {
	e := AbortedEntry{Version: int16(binary.BigEndian.Uint16(raw))}
	e.ProducerID = record.ProducerID(binary.BigEndian.Uint64(raw[2:]))
	e.FirstOffset = record.Offset(binary.BigEndian.Uint64(raw[10:]))
	e.LastOffset = record.Offset(binary.BigEndian.Uint64(raw[18:]))
	e.LastStableOffset = record.Offset(binary.BigEndian.Uint64(raw[26:]))
	return e
}

// Entries reads a file of entries of entrySize bytes, of which size bytes are looked at, in pieces. A short rest is left
// out. visit returns false to stop.
func Entries(f vfs.File, size int64, entrySize int, visit func(i int, raw []byte) (bool, error)) error {
	buf := make([]byte, entrySize*min(4096, int(size/int64(entrySize))))
	whole := size - size%int64(entrySize)
	for at, i := int64(0), 0; at < whole; {
		piece := buf[:min(int64(len(buf)), whole-at)]
		if n, err := f.ReadAt(piece, at); n < len(piece) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		at += int64(len(piece))
		for ; len(piece) > 0; piece, i = piece[entrySize:], i+1 {
			if more, err := visit(i, piece[:entrySize]); err != nil || !more {
				return err
			}
		}
	}
	return nil
}
