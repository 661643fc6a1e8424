package index

import (
	"encoding/binary"
	"fmt"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// offsetEntry is the size of an .index entry.
//
//	pos  size  field
//	0    4     offset less base offset, int32: last offset of the indexed batch
//	4    4     byte position of that batch in the .log, int32
//
// Releases before 4.4 wrote one entry per appended chunk (last offset of the chunk, position of its begin), so the
// batch at the position may end far below the entry's offset. Either way the position is a batch boundary.
const offsetEntry = 8

// Offset is the offset index of one segment.
type Offset struct{ table }

// CreateOffset makes an empty, active index at path, replacing a file that stands there. maxBytes is
// segment.index.bytes.
func CreateOffset(h *vfs.Handles, path string, base record.Offset, maxBytes int) (*Offset, error) {
	x := &Offset{table{pool: h, base: base, size: offsetEntry, limit: maxBytes}}
	if err := x.create(path); err != nil {
		return nil, err
	}
	return x, nil
}

// OpenOffset registers an existing index without opening it: a missing or unreadable file shows at first use, or at
// Load. All whole entries of the file count as valid. A sealed index (active false) is read only and full.
func OpenOffset(h *vfs.Handles, path string, base record.Offset, maxBytes int, active bool) (*Offset, error) {
	x := &Offset{table{pool: h, base: base, size: offsetEntry, limit: maxBytes}}
	if err := x.open(path, active); err != nil {
		return nil, err
	}
	return x, nil
}

// Append adds an entry. Both off and pos must be greater than in the last entry.
func (x *Offset) Append(off record.Offset, pos Position) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.active {
		return fmt.Errorf("%s: %w", x.path, ErrSealed)
	}
	rel, err := relative(x.base, off)
	if err != nil {
		return err
	}
	v, err := x.loadLocked()
	if err != nil {
		return err
	}
	heap, n := v.entries(offsetEntry)
	if n >= x.limit/offsetEntry {
		return fmt.Errorf("%s: %w (%d entries)", x.path, ErrFull, n)
	}
	if n > 0 {
		lastRel, lastPos := decodeOffset(heap[len(heap)-offsetEntry:])
		if rel <= lastRel || pos <= lastPos {
			return fmt.Errorf("%s: %w: (%d, %d) after (%d, %d)", x.path, ErrOutOfOrder,
				off, pos, x.base+record.Offset(lastRel), lastPos)
		}
	} else if pos < 0 {
		return fmt.Errorf("%s: %w: position %d", x.path, ErrOutOfOrder, pos)
	}
	var raw [offsetEntry]byte
	binary.BigEndian.PutUint32(raw[:], uint32(rel))
	binary.BigEndian.PutUint32(raw[4:], uint32(pos))
	return x.appendLocked(v, raw[:])
}

func decodeOffset(raw []byte) (Relative, Position) {
	return Relative(binary.BigEndian.Uint32(raw)), Position(binary.BigEndian.Uint32(raw[4:]))
}

// entry turns a raw entry into offset and position, refusing what no writer writes (IDX-5).
func (x *Offset) entry(i int, raw []byte) (record.Offset, Position, error) {
	rel, pos := decodeOffset(raw)
	if rel < 0 || pos < 0 {
		return x.base, 0, x.corrupt(i, "entry (%d, %d)", rel, pos)
	}
	return x.base + record.Offset(rel), pos, nil
}

// Lookup returns the last entry whose offset is at most target; (base, 0) when there is none.
func (x *Offset) Lookup(target record.Offset) (record.Offset, Position, error) {
	v, err := x.load()
	if err != nil {
		return x.base, 0, err
	}
	if target < x.base {
		return x.base, 0, nil
	}
	rel := int64(target - x.base)
	heap, _ := v.entries(offsetEntry)
	if v.first > 0 && int64(int32(binary.BigEndian.Uint32(heap))) > rel {
		return x.lookupCold(v, rel)
	}
	at := lastOffsetEntry(heap, rel)
	if at < 0 {
		return x.base, 0, nil
	}
	return x.entry(v.first+at, heap[at*offsetEntry:])
}

// guessedEntries is how many entries are searched first, around where the answer would be if offsets rose evenly.
const guessedEntries = 16

// lastOffsetEntry returns the index of the last of the given entries whose relative offset is at most rel, -1 when there
// is none. Batches of one producer are much alike, so that the guess nearly always holds and saves a third of the time;
// when it does not, two comparisons were wasted.
func lastOffsetEntry(entries []byte, rel int64) int {
	at := guessedOffset(entries, rel)
	if at < 0 {
		return lastOffsetAmong(entries, rel)
	}
	// Quarters, since three loads at once take as long as one. The first entry is not beyond rel.
	at += 4 * (3 + beyond(entries, at+4, rel) + beyond(entries, at+8, rel) + beyond(entries, at+12, rel))
	return at + 3 + beyond(entries, at+1, rel) + beyond(entries, at+2, rel) + beyond(entries, at+3, rel)
}

// guessedOffset returns the first of guessedEntries entries among which the answer is, -1 when it is not where it was
// looked for. Entries that do not rise lead to one answer or the other, never out of bounds (IDX-5).
func guessedOffset(entries []byte, rel int64) int {
	last := len(entries)/offsetEntry - 1
	if last < 4*guessedEntries {
		return -1
	}
	from, to := relativeAt(entries, 0), relativeAt(entries, last)
	guess := int(float32(rel-from) / float32(to-from) * float32(last))
	at := max(min(guess, last-guessedEntries/2), guessedEntries/2) - guessedEntries/2
	if relativeAt(entries, at) > rel || relativeAt(entries, at+guessedEntries) <= rel {
		return -1
	}
	return at
}

// lastOffsetAmong is a binary search. The halves are chosen without a branch, which no processor could predict.
func lastOffsetAmong(entries []byte, rel int64) int {
	at, n := -1, len(entries)/offsetEntry // the answer is among at, … at+n
	for n > 0 {
		half := (n + 1) / 2
		at += half &^ beyond(entries, at+half, rel)
		n -= half
	}
	return at
}

// beyond is -1, all ones, when entry i is beyond rel, else 0.
func beyond(entries []byte, i int, rel int64) int { return int((rel - relativeAt(entries, i)) >> 63) }

func relativeAt(entries []byte, i int) int64 {
	return int64(int32(binary.BigEndian.Uint32(entries[i*offsetEntry:])))
}

// lookupCold is Lookup among the entries that are in the file.
func (x *Offset) lookupCold(v *view, rel int64) (off record.Offset, pos Position, err error) {
	off = x.base
	err = x.stable(v, func(v *view) error {
		before := func(raw []byte) bool { return int64(int32(binary.BigEndian.Uint32(raw))) <= rel }
		n, err := x.prefixLearning(v, x.guessBlock(v, rel, 0), before)
		if err != nil || n.index < 0 {
			off, pos = x.base, 0
			return err
		}
		off, pos, err = x.entry(n.index, n.raw[:])
		return err
	})
	return off, pos, err
}

// guessBlock returns the block that a relative offset (field 0) or position (field 4) would be in if these rose evenly.
func (x *Offset) guessBlock(v *view, value int64, field int) int {
	if v.first == 0 {
		return noGuess
	}
	first := int64(int32(binary.BigEndian.Uint32(v.heap[field:])))
	if value < 0 || value >= first {
		return noGuess
	}
	return int(float64(value) / float64(first) * float64(v.first) / float64(x.blockEntries()))
}

// prefixLearning returns the last entry for which before holds, wherever it is; guess is as in searchCold.
func (t *table) prefixLearning(v *view, guess int, before func(raw []byte) bool) (found, error) {
	heap, n := v.entries(t.size)
	if v.first > 0 && !before(heap[:t.size]) {
		return t.searchCold(v, true, guess, before)
	}
	lo, hi := 0, n-v.first
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if before(heap[mid*t.size : (mid+1)*t.size]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return found{index: -1}, nil
	}
	return t.at(v, v.first+lo-1)
}

// UpperBound returns the offset of the first entry at or behind the position from + bytes, where a read of that many
// bytes has certainly ended; false when there is none. It is computed in 64 bits: the sum may exceed an int32.
func (x *Offset) UpperBound(from Position, bytes int) (off record.Offset, ok bool, err error) {
	end := int64(from) + int64(bytes)
	v, err := x.load()
	if err != nil {
		return 0, false, err
	}
	err = x.stable(v, func(v *view) error {
		n := v.count() // before the search: an entry that is appended meanwhile was not compared
		last, err := x.prefixLearning(v, x.guessBlock(v, end, 4), func(raw []byte) bool {
			return int64(int32(binary.BigEndian.Uint32(raw[4:]))) < end
		})
		if ok = err == nil && last.index+1 < n; !ok {
			return err
		}
		next, err := x.at(v, last.index+1)
		if err != nil {
			return err
		}
		off, _, err = x.entry(next.index, next.raw[:])
		return err
	})
	return off, ok && err == nil, err
}

// Entry returns entry i of 0 … Entries()-1.
func (x *Offset) Entry(i int) (off record.Offset, pos Position, err error) {
	v, err := x.load()
	if err != nil {
		return x.base, 0, err
	}
	err = x.stable(v, func(v *view) error {
		if i < 0 || i >= v.count() {
			return fmt.Errorf("%s: no entry %d of %d", x.Path(), i, v.count())
		}
		e, err := x.at(v, i)
		if err != nil {
			return err
		}
		off, pos, err = x.entry(i, e.raw[:])
		return err
	})
	return off, pos, err
}

// LastOffset returns the offset of the last entry, the base when there is none (or it is unreadable: see Load).
func (x *Offset) LastOffset() record.Offset {
	v, err := x.load()
	if err != nil {
		return x.base
	}
	heap, n := v.entries(offsetEntry)
	if n == 0 {
		return x.base
	}
	rel, _ := decodeOffset(heap[len(heap)-offsetEntry:])
	return x.base + record.Offset(rel)
}

// Full reports whether no entry can be added.
func (x *Offset) Full() bool { return x.full(0) }

// Truncate keeps the entries whose offset is below off and makes the index active.
func (x *Offset) Truncate(off record.Offset) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	v, err := x.loadLocked()
	if err != nil {
		return err
	}
	rel := int64(off) - int64(x.base)
	n, err := x.prefix(v, func(raw []byte) bool { return int64(int32(binary.BigEndian.Uint32(raw))) < rel })
	if err != nil {
		return err
	}
	return x.cutLocked(n)
}
