package metadata

import (
	"hash/maphash"
	"iter"
	"math/bits"
)

// pmap is an immutable map: with and without return a new one that shares all but the few nodes on the way to
// the key, so that a change costs the same however many entries there are. The zero pmap is empty.
//
// It is a hash trie: each level spends 5 bits of the hash. An edit token makes a run of changes cheap: nodes
// that carry the token were made by this run and are changed in place. Whoever publishes a map drops the token.
type pmap[K comparable, V any] struct {
	root *pnode[K, V]
	n    int
}

// edit marks the nodes that one run of changes owns. It is not empty, so that each has an address of its own.
type edit struct{ _ byte }

type pnode[K comparable, V any] struct {
	owner *edit
	// used has a bit for each of the 32 slots that is taken; slots holds the taken ones in order. On the level
	// below the last bits of the hash it is unused and slots is a plain list.
	used  uint32
	slots []pslot[K, V]
}

// pslot is an entry, or a deeper node.
type pslot[K comparable, V any] struct {
	deeper *pnode[K, V]
	key    K
	value  V
}

const (
	levelBits = 5
	hashBits  = 60 // what is left is not enough for another level
)

// hashSeed is the same for all maps: they share nodes.
var hashSeed = maphash.MakeSeed()

func hashOf[K comparable](k K) uint64 { return maphash.Comparable(hashSeed, k) }

func (m pmap[K, V]) len() int { return m.n }

func (m pmap[K, V]) get(k K) (v V, ok bool) {
	h, n := hashOf(k), m.root
	for shift := 0; n != nil; shift += levelBits {
		i, found := n.find(h, shift, k)
		if !found {
			return v, false
		}
		s := &n.slots[i]
		if s.deeper == nil {
			if s.key == k {
				return s.value, true
			}
			return v, false
		}
		n = s.deeper
	}
	return v, false
}

// find returns the index of the slot for the key, and whether the slot is taken (perhaps by another key).
func (n *pnode[K, V]) find(h uint64, shift int, k K) (int, bool) {
	if shift >= hashBits {
		for i := range n.slots {
			if n.slots[i].key == k {
				return i, true
			}
		}
		return len(n.slots), false
	}
	bit := uint32(1) << (h >> shift & 31)
	return bits.OnesCount32(n.used & (bit - 1)), n.used&bit != 0
}

// own returns a node that e may change: n itself if e made it.
func (n *pnode[K, V]) own(e *edit) *pnode[K, V] {
	if n.owner == e && e != nil {
		return n
	}
	return &pnode[K, V]{owner: e, used: n.used, slots: append(make([]pslot[K, V], 0, len(n.slots)+1), n.slots...)}
}

// with returns m with k set to v.
func (m pmap[K, V]) with(k K, v V, e *edit) pmap[K, V] {
	root := m.root
	if root == nil {
		root = &pnode[K, V]{owner: e}
	}
	root, added := root.with(hashOf(k), 0, k, v, e)
	if added {
		m.n++
	}
	m.root = root
	return m
}

func (n *pnode[K, V]) with(h uint64, shift int, k K, v V, e *edit) (*pnode[K, V], bool) {
	n = n.own(e)
	i, taken := n.find(h, shift, k)
	if !taken {
		n.slots = append(n.slots, pslot[K, V]{})
		copy(n.slots[i+1:], n.slots[i:])
		n.slots[i] = pslot[K, V]{key: k, value: v}
		if shift < hashBits {
			n.used |= 1 << (h >> shift & 31)
		}
		return n, true
	}
	s := &n.slots[i]
	if s.deeper == nil {
		if s.key == k {
			s.value = v
			return n, false
		}
		// Two keys meet: the one that is here goes a level down.
		deeper := &pnode[K, V]{owner: e}
		deeper, _ = deeper.with(hashOf(s.key), shift+levelBits, s.key, s.value, e)
		*s = pslot[K, V]{deeper: deeper}
	}
	deeper, added := s.deeper.with(h, shift+levelBits, k, v, e)
	s.deeper = deeper
	return n, added
}

// without returns m without k.
func (m pmap[K, V]) without(k K, e *edit) pmap[K, V] {
	if _, ok := m.get(k); !ok {
		return m
	}
	m.root = m.root.without(hashOf(k), 0, k, e)
	m.n--
	return m
}

// without removes k, which is there.
func (n *pnode[K, V]) without(h uint64, shift int, k K, e *edit) *pnode[K, V] {
	n = n.own(e)
	i, _ := n.find(h, shift, k)
	s := &n.slots[i]
	if s.deeper != nil {
		s.deeper = s.deeper.without(h, shift+levelBits, k, e)
		switch rest := s.deeper.slots; {
		case len(rest) == 1 && rest[0].deeper == nil:
			*s = rest[0]
			return n
		case len(rest) > 0:
			return n
		}
	}
	n.slots = append(n.slots[:i], n.slots[i+1:]...)
	if shift < hashBits {
		n.used &^= 1 << (h >> shift & 31)
	}
	return n
}

// all yields the entries in no particular order.
func (m pmap[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m.root != nil {
			m.root.each(yield)
		}
	}
}

func (n *pnode[K, V]) each(yield func(K, V) bool) bool {
	for i := range n.slots {
		s := &n.slots[i]
		if s.deeper != nil {
			if !s.deeper.each(yield) {
				return false
			}
		} else if !yield(s.key, s.value) {
			return false
		}
	}
	return true
}
