package index

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// block is a buffer for one read, and for the remembered key that is being compared.
type block struct {
	bytes [blockBytes]byte
	key   [8]byte
}

// blocks lends buffers. It is shared by all indexes and holds nothing that outlives a lookup.
var blocks = sync.Pool{New: func() any { return new(block) }}

// blockKeys remembers the first 8 bytes of blocks of older entries, as searches come across them: relative offset and
// position, or a timestamp. Both are ≥ 0 in a sound file, so the top bit tells "known" from "not yet".
type blockKeys []atomic.Uint64

const keyKnown = 1 << 63

// grown returns keys for n blocks that know what k knows; nil when k is nil.
func (k *blockKeys) grown(n int) *blockKeys {
	if k == nil {
		return nil
	}
	more := make(blockKeys, n)
	for i := range min(n, len(*k)) {
		more[i].Store((*k)[i].Load())
	}
	return &more
}

// blockEntries is how many entries a block holds: 512 of 8 bytes, 341 of 12.
func (t *table) blockEntries() int { return blockBytes / t.size }

// blockCount returns how many blocks hold the entries below first.
func (t *table) blockCount(first int) int {
	per := t.blockEntries()
	return (first + per - 1) / per
}

// cold is one search among the entries that are only in the file.
type cold struct {
	t    *table
	v    *view
	keys blockKeys
	buf  *block
	have int // the number of the block in buf, -1 none
}

// found is an entry and its index; index -1 means none.
type found struct {
	index int
	raw   [12]byte
}

// searchCold returns the last entry below v.first for which before holds; before must hold for a prefix of the
// entries. With learn set before looks at the first 8 bytes only, and these may come from the heap. guess is the block
// that it may be in, noGuess when nobody knows.
func (t *table) searchCold(v *view, learn bool, guess int, before func(raw []byte) bool) (found, error) {
	c := cold{t: t, v: v, have: -1, buf: blocks.Get().(*block)}
	defer blocks.Put(c.buf)
	if learn {
		c.keys = v.keys(t.blockCount(v.first))
	}
	last, err := c.block(guess, before)
	if err != nil || last < 0 {
		return found{index: -1}, err
	}
	return c.within(last, before)
}

// noGuess stands for a block when nothing tells which.
const noGuess = -1

// block returns the last block whose first entry qualifies, -1 if there is none. Each look at one that was not come
// across before is a read from the disk: the first two are at the guess and beside it, on the side where the answer is.
func (c *cold) block(guess int, before func(raw []byte) bool) (int, error) {
	lo, hi := -1, c.t.blockCount(c.v.first)
	guess = min(guess, hi-1)
	guesses := 0
	if guess != noGuess {
		guesses = 2
	}
	for ; hi-lo > 1; guesses-- {
		mid := int(uint(lo+hi) / 2)
		if guesses > 0 && guess > lo && guess < hi {
			mid = guess
		}
		ok, err := c.first(mid, before)
		if err != nil {
			return -1, err
		}
		if ok {
			lo, guess = mid, mid+1
		} else {
			hi, guess = mid, mid-1
		}
	}
	return lo, nil
}

// keys returns the view's block keys, made at the first search that needs them.
func (v *view) keys(n int) blockKeys {
	if k := v.blocks.Load(); k != nil {
		return *k
	}
	k := make(blockKeys, n)
	if !v.blocks.CompareAndSwap(nil, &k) {
		return *v.blocks.Load()
	}
	return k
}

// first reports whether the first entry of block qualifies.
func (c *cold) first(block int, before func([]byte) bool) (bool, error) {
	if c.keys != nil {
		if k := c.keys[block].Load(); k != 0 {
			binary.BigEndian.PutUint64(c.buf.key[:], k&^keyKnown)
			return before(c.buf.key[:]), nil
		}
	}
	entries, err := c.read(block)
	if err != nil {
		return false, err
	}
	if c.keys != nil {
		if k := binary.BigEndian.Uint64(entries); k&keyKnown == 0 {
			c.keys[block].Store(k | keyKnown)
		}
	}
	return before(entries[:c.t.size]), nil
}

// within returns the last entry of block that qualifies; its first one does.
func (c *cold) within(block int, before func([]byte) bool) (found, error) {
	entries, err := c.read(block)
	if err != nil {
		return found{index: -1}, err
	}
	size := c.t.size
	lo, hi := 0, len(entries)/size
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if before(entries[mid*size : (mid+1)*size]) {
			lo = mid
		} else {
			hi = mid
		}
	}
	out := found{index: block*c.t.blockEntries() + lo}
	copy(out.raw[:], entries[lo*size:(lo+1)*size])
	return out, nil
}

// read returns the entries of block.
func (c *cold) read(block int) ([]byte, error) {
	per := c.t.blockEntries()
	n := min(per, c.v.first-block*per) * c.t.size
	if c.have != block {
		c.have = -1
		if err := c.t.readAt(c.buf.bytes[:n], block*per); err != nil {
			return nil, err
		}
		c.have = block
	}
	return c.buf.bytes[:n], nil
}

// at returns entry i, which must be below the view's count.
func (t *table) at(v *view, i int) (found, error) {
	out := found{index: i}
	if i >= v.first {
		copy(out.raw[:], v.heap[(i-v.first)*t.size:(i-v.first+1)*t.size])
		return out, nil
	}
	buf := blocks.Get().(*block)
	defer blocks.Put(buf)
	if err := t.readAt(buf.bytes[:t.size], i); err != nil {
		return found{index: -1}, err
	}
	copy(out.raw[:], buf.bytes[:t.size])
	return out, nil
}

// prefix returns how many entries before holds for; before must hold for a prefix of them.
func (t *table) prefix(v *view, before func(raw []byte) bool) (int, error) {
	heap, n := v.entries(t.size)
	if v.first > 0 && !before(heap[:t.size]) {
		last, err := t.searchCold(v, false, noGuess, before)
		return last.index + 1, err
	}
	lo, hi := v.first, n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if before(heap[(mid-v.first)*t.size : (mid-v.first+1)*t.size]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// stable runs read against the current view until the view did not change meanwhile: a truncation may have changed
// the file under a reader (IDX-4 holds for the heap part only).
func (t *table) stable(v *view, read func(v *view) error) error {
	for {
		err := read(v)
		now := t.view.Load()
		if now == v {
			return err
		}
		v = now
	}
}
