package cleaner

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/samsalog/samsa/record"
)

// slotSize is what one key costs: half of its SHA-256, and an offset.
const slotSize = 24

// firstSlots is what a map begins with, unless that is more than a ninth of what it may have; it grows with what is put
// in, growth-fold at a time as long as a ninth is not exceeded, then to all that is left.
const (
	firstSlots = 2048
	growth     = 8
)

// slot is one key. Keys are compared by hash only, so two keys with one hash would cost a record: with 128 bits of
// SHA-256 nobody can make such a pair, which of MD5, that Kafka uses, cannot be said.
type slot struct {
	key  keyHash
	next record.Offset // offset + 1; 0: the slot is free
}

// keyHash is what is known of a key: the first half of its SHA-256.
type keyHash struct{ a, b uint64 }

func hash(key []byte) keyHash {
	h := sha256.Sum256(key)
	return keyHash{binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])}
}

// offsetMap maps the keys of the dirty part of a log to the largest offset each has there. It never takes more than a
// given number of bytes, the copying when it grows included.
//
// It is a table with open addressing in which an entry that is further from its home displaces one that is nearer
// (Robin Hood hashing), so that lookups stay short when it is nine tenths full.
type offsetMap struct {
	slots      []slot
	used       int
	maxSlots   int
	loadFactor float64
	// latest is the offset up to which the map tells about the log; -1 none.
	latest record.Offset
}

// newOffsetMap returns an empty map of at most maxBytes, which is full when loadFactor of its slots are taken.
func newOffsetMap(maxBytes int64, loadFactor float64) *offsetMap {
	most := int(max(1, min(maxBytes, 1<<40)/slotSize)) // one at least, so that every run gets on
	first := most
	if firstSlots <= most/(growth+1) {
		first = firstSlots
	}
	return &offsetMap{slots: make([]slot, first), maxSlots: most, loadFactor: loadFactor, latest: record.NoOffset}
}

// room is how many keys fit without growing.
func (m *offsetMap) room() int {
	n := int(float64(len(m.slots)) * m.loadFactor)
	return min(max(n, 1), len(m.slots))
}

// home is where an entry would stand in an empty table.
func (m *offsetMap) home(key keyHash) int {
	hi, _ := bits.Mul64(key.a, uint64(len(m.slots)))
	return int(hi)
}

// distance is how far slot i is from the home of the entry in it.
func (m *offsetMap) distance(i int) int {
	d := i - m.home(m.slots[i].key)
	if d < 0 {
		d += len(m.slots)
	}
	return d
}

// find returns the slot of a key; when it is not there, the one where it belongs and its distance from home.
func (m *offsetMap) find(key keyHash) (i, d int, ok bool) {
	i = m.home(key)
	for d = 0; d < len(m.slots); d++ {
		s := &m.slots[i]
		if s.next == 0 {
			return i, d, false
		}
		if s.key == key {
			return i, d, true
		}
		if m.distance(i) < d {
			return i, d, false
		}
		if i++; i == len(m.slots) {
			i = 0
		}
	}
	return i, d, false
}

// get returns the offset of a key.
func (m *offsetMap) get(key keyHash) (record.Offset, bool) {
	i, _, ok := m.find(key)
	if !ok {
		return record.NoOffset, false
	}
	return m.slots[i].next - 1, true
}

// put notes that the record at o has the key; later calls come with larger offsets. False: the map is full, and does
// not know this key.
func (m *offsetMap) put(key keyHash, o record.Offset) bool {
	i, d, ok := m.find(key)
	if ok {
		m.slots[i].next = o + 1
		m.latest = o
		return true
	}
	if m.used >= m.room() {
		if !m.grow() {
			return false
		}
		i, d, _ = m.find(key)
	}
	m.insert(i, d, slot{key, o + 1})
	m.used++
	m.latest = o
	return true
}

// insert puts s, which would stand at distance d in slot i, and moves on whoever stands there.
func (m *offsetMap) insert(i, d int, s slot) {
	for m.slots[i].next != 0 {
		if other := m.distance(i); other < d {
			m.slots[i], s = s, m.slots[i]
			d = other
		}
		d++
		if i++; i == len(m.slots) {
			i = 0
		}
	}
	m.slots[i] = s
}

// grow makes the table larger; false when both tables together would exceed the bound.
func (m *offsetMap) grow() bool {
	n := growth * len(m.slots)
	if n > m.maxSlots/(growth+1) {
		n = m.maxSlots - len(m.slots)
	}
	if n <= len(m.slots) {
		return false
	}
	old := m.slots
	m.slots = make([]slot, n)
	for _, s := range old {
		if s.next != 0 {
			m.insert(m.home(s.key), 0, s)
		}
	}
	return true
}

// reach notes that the map tells about everything up to o.
func (m *offsetMap) reach(o record.Offset) { m.latest = max(m.latest, o) }
