package index

import (
	"fmt"

	"github.com/samsalog/samsa/record"
)

// scanBytes is the size of the pieces in which a whole index is read: a multiple of both entry sizes.
const scanBytes = 49152

// checker holds the previous entry of a run that must be in order.
type checker struct {
	t     *table
	i     int // index of the next entry
	prev  [12]byte
	order func(prev, next []byte) bool // nil prev: next is the first entry
}

// run checks the entries in raw against each other and the one before.
func (c *checker) run(raw []byte) error {
	size := c.t.size
	for ; len(raw) >= size; raw = raw[size:] {
		var prev []byte
		if c.i > 0 {
			prev = c.prev[:size]
		}
		if !c.order(prev, raw[:size]) {
			return c.t.corrupt(c.i, "entry %d of %d bytes is not above the one before", c.i, size)
		}
		copy(c.prev[:], raw[:size])
		c.i++
	}
	return nil
}

// whole checks every entry of the file and its length.
func (t *table) whole(order func(prev, next []byte) bool) error {
	v, err := t.load()
	if err != nil {
		return err
	}
	if err := t.wholeEntries(v); err != nil {
		return err
	}
	return t.stable(v, func(v *view) error {
		c := checker{t: t, order: order}
		buf := make([]byte, scanBytes)
		for at := 0; at < v.first; {
			n := min(scanBytes/t.size, v.first-at)
			if err := t.readAt(buf[:n*t.size], at); err != nil {
				return err
			}
			if err := c.run(buf[:n*t.size]); err != nil {
				return err
			}
			at += n
		}
		heap, _ := v.entries(t.size)
		return c.run(heap)
	})
}

// tail checks the first entry, the entries on the heap, and the length: at most two reads.
func (t *table) tail(order func(prev, next []byte) bool) error {
	v, err := t.load()
	if err != nil {
		return err
	}
	if err := t.wholeEntries(v); err != nil {
		return err
	}
	return t.stable(v, func(v *view) error {
		c := checker{t: t, order: order}
		if v.first > 0 {
			first, err := t.at(v, 0)
			if err != nil {
				return err
			}
			if err := c.run(first.raw[:t.size]); err != nil {
				return err
			}
			c.i = v.first
		}
		heap, _ := v.entries(t.size)
		return c.run(heap)
	})
}

// wholeEntries refuses a sealed or just opened file that ends inside an entry.
func (t *table) wholeEntries(v *view) error {
	size, err := t.fileSize()
	if err != nil {
		return err
	}
	if size%int64(t.size) != 0 {
		return &record.CorruptError{File: t.Path(), Position: size, Offset: record.NoOffset,
			Reason: fmt.Sprintf("length %d is no multiple of %d (%d entries)", size, t.size, v.count())}
	}
	return nil
}

func offsetsInOrder(prev, next []byte) bool {
	rel, pos := decodeOffset(next)
	if rel < 0 || pos < 0 {
		return false
	}
	if prev == nil {
		return true
	}
	prevRel, prevPos := decodeOffset(prev)
	return rel > prevRel && pos > prevPos
}

func timesInOrder(prev, next []byte) bool {
	ts, rel := decodeTime(next)
	if ts < 0 || rel < 0 {
		return false
	}
	if prev == nil {
		return true
	}
	prevTs, prevRel := decodeTime(prev)
	return ts > prevTs && rel >= prevRel
}

// Sanity reads the whole index and checks length and order (IDX-1). The error is a *record.CorruptError unless the
// file could not be read. Kafka's own check looks at length and last entry only, and takes a file padded with zeros
// for sound.
func (x *Offset) Sanity() error { return x.whole(offsetsInOrder) }

// TailSanity is Sanity for the first entry, the last 8192 bytes and the length: cheap enough for every load.
func (x *Offset) TailSanity() error { return x.tail(offsetsInOrder) }

// Sanity reads the whole index and checks length and order (IDX-1). The error is a *record.CorruptError unless the
// file could not be read.
func (x *Time) Sanity() error { return x.whole(timesInOrder) }

// TailSanity is Sanity for the first entry, the last 8192 bytes and the length: cheap enough for every load. It finds
// zeros at the end however many they are.
func (x *Time) TailSanity() error { return x.tail(timesInOrder) }
