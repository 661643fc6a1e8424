package index

import (
	"encoding/binary"
	"fmt"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// timeEntry is the size of a .timeindex entry.
//
//	pos  size  field
//	0    8     timestamp in ms, int64: the largest seen in the segment so far
//	8    4     offset less base offset, int32: last offset of the batch that holds it
const timeEntry = 12

// Time is the time index of one segment. An entry (ts, off) says: no record up to off has a timestamp above ts.
type Time struct{ table }

// CreateTime makes an empty, active index at path, replacing a file that stands there. maxBytes is
// segment.index.bytes.
func CreateTime(h *vfs.Handles, path string, base record.Offset, maxBytes int) (*Time, error) {
	x := &Time{table{pool: h, base: base, size: timeEntry, limit: maxBytes}}
	if err := x.create(path); err != nil {
		return nil, err
	}
	return x, nil
}

// OpenTime registers an existing index without opening it: a missing or unreadable file shows at first use, or at
// Load. All whole entries of the file count as valid. A sealed index (active false) is read only and full.
func OpenTime(h *vfs.Handles, path string, base record.Offset, maxBytes int, active bool) (*Time, error) {
	x := &Time{table{pool: h, base: base, size: timeEntry, limit: maxBytes}}
	if err := x.open(path, active); err != nil {
		return nil, err
	}
	return x, nil
}

// Append adds an entry if ts is above the last one's; nothing happens when it equals it. A smaller ts or off is
// refused. skipFull is for the final entry of a segment, for which the last slot is kept.
func (x *Time) Append(ts int64, off record.Offset, skipFull bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.active {
		return fmt.Errorf("%s: %w", x.path, ErrSealed)
	}
	v, err := x.loadLocked()
	if err != nil {
		return err
	}
	heap, n := v.entries(timeEntry)
	if !skipFull && n >= x.limit/timeEntry-1 {
		return fmt.Errorf("%s: %w (%d entries)", x.path, ErrFull, n)
	}
	lastTs, lastOff := record.NoTimestamp, x.base
	if n > 0 {
		var rel Relative
		lastTs, rel = decodeTime(heap[len(heap)-timeEntry:])
		lastOff += record.Offset(rel)
		if off < lastOff || ts < lastTs {
			return fmt.Errorf("%s: %w: (%d, %d) after (%d, %d)", x.path, ErrOutOfOrder, ts, off, lastTs, lastOff)
		}
	}
	if ts <= lastTs { // equal, or a record without a timestamp in an empty index
		return nil
	}
	rel, err := relative(x.base, off)
	if err != nil {
		return err
	}
	var raw [timeEntry]byte
	binary.BigEndian.PutUint64(raw[:], uint64(ts))
	binary.BigEndian.PutUint32(raw[8:], uint32(rel))
	return x.appendLocked(v, raw[:])
}

func decodeTime(raw []byte) (int64, Relative) {
	return int64(binary.BigEndian.Uint64(raw)), Relative(binary.BigEndian.Uint32(raw[8:]))
}

// entry turns a raw entry into timestamp and offset, refusing what no writer writes (IDX-5).
func (x *Time) entry(i int, raw []byte) (int64, record.Offset, error) {
	ts, rel := decodeTime(raw)
	if ts < 0 || rel < 0 {
		return record.NoTimestamp, x.base, x.corrupt(i, "entry (%d, %d)", ts, rel)
	}
	return ts, x.base + record.Offset(rel), nil
}

// Lookup returns the last entry whose timestamp is at most ts; (-1, base) when there is none.
func (x *Time) Lookup(ts int64) (at int64, off record.Offset, err error) {
	at, off = record.NoTimestamp, x.base
	v, err := x.load()
	if err != nil {
		return at, off, err
	}
	err = x.stable(v, func(v *view) error {
		e, err := x.prefixLearning(v, noGuess, func(raw []byte) bool { return int64(binary.BigEndian.Uint64(raw)) <= ts })
		if err != nil || e.index < 0 {
			at, off = record.NoTimestamp, x.base
			return err
		}
		at, off, err = x.entry(e.index, e.raw[:])
		return err
	})
	return at, off, err
}

// Entry returns entry i of 0 … Entries()-1.
func (x *Time) Entry(i int) (ts int64, off record.Offset, err error) {
	v, err := x.load()
	if err != nil {
		return record.NoTimestamp, x.base, err
	}
	err = x.stable(v, func(v *view) error {
		if i < 0 || i >= v.count() {
			return fmt.Errorf("%s: no entry %d of %d", x.Path(), i, v.count())
		}
		e, err := x.at(v, i)
		if err != nil {
			return err
		}
		ts, off, err = x.entry(i, e.raw[:])
		return err
	})
	return ts, off, err
}

// LastEntry returns the last entry; (-1, base) when there is none or the file cannot be read. Whoever deletes data by
// it asks Last, which tells the two apart.
func (x *Time) LastEntry() (ts int64, off record.Offset) {
	v, err := x.load()
	if err != nil {
		return record.NoTimestamp, x.base
	}
	heap, n := v.entries(timeEntry)
	if n == 0 {
		return record.NoTimestamp, x.base
	}
	ts, rel := decodeTime(heap[len(heap)-timeEntry:])
	return ts, x.base + record.Offset(rel)
}

// Last returns the last entry like LastEntry, but only after the end of the index has passed the check of TailSanity:
// an index that ends in zeros (KAFKA-10207) would make a segment look fifty years old.
func (x *Time) Last() (ts int64, off record.Offset, err error) {
	if err := x.TailSanity(); err != nil {
		return record.NoTimestamp, x.base, err
	}
	ts, off = x.LastEntry()
	return ts, off, nil
}

// Full reports whether no entry but the final one can be added.
func (x *Time) Full() bool { return x.full(1) }

// Truncate keeps the entries whose offset is below off and makes the index active.
func (x *Time) Truncate(off record.Offset) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	v, err := x.loadLocked()
	if err != nil {
		return err
	}
	rel := int64(off) - int64(x.base)
	n, err := x.prefix(v, func(raw []byte) bool { return int64(int32(binary.BigEndian.Uint32(raw[8:]))) < rel })
	if err != nil {
		return err
	}
	return x.cutLocked(n)
}
