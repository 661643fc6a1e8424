package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorSize is what a disk writes as a whole: a torn write is torn at a multiple of it in the file.
const sectorSize = 512

// Crash returns what a power failure at this moment leaves when nothing unsynced reached the disk (VFS-1). Files
// that are open on m go on working on m and have nothing to do with the result, which holds no locks.
func (m *Mem) Crash() *Mem { return m.crash(nil) }

// CrashKeeping returns what a power failure may leave when the disk had begun with what nobody had asked it to do:
// of every file an arbitrary subset of the unsynced writes, torn at sectors, and of every directory its first so
// many unsynced changes. The same seed on the same history leaves the same (VFS-2).
func (m *Mem) CrashKeeping(seed uint64) *Mem {
	return m.crash(rand.New(rand.NewPCG(seed, 0x5a4d5a)))
}

func (m *Mem) crash(keep *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := NewMem()
	out.total = m.total
	out.root = crashNode(m.root, keep, map[*memNode]*memNode{})
	return out
}

// crashNode copies a node as the disk has it. A node that two directories name (an unsynced move) is copied once.
func crashNode(n *memNode, keep *rand.Rand, seen map[*memNode]*memNode) *memNode {
	if c := seen[n]; c != nil {
		return c
	}
	c := &memNode{mode: n.mode, modTime: n.modTime}
	seen[n] = c
	if !n.isDir() {
		c.data = crashData(n, keep)
		c.synced = slices.Clone(c.data)
		return c
	}
	names := maps.Clone(n.durable)
	if keep != nil {
		for _, change := range n.changes[:keep.IntN(len(n.changes)+1)] {
			for name, node := range change {
				if node == nil {
					delete(names, name)
				} else {
					names[name] = node
				}
			}
		}
	}
	c.entries = make(map[string]*memNode, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) { // sorted: the random source must not see map order
		c.entries[name] = crashNode(names[name], keep, seen)
	}
	c.durable = maps.Clone(c.entries)
	return c
}

// crashData returns a file's content as the disk has it.
func crashData(n *memNode, keep *rand.Rand) []byte {
	data := slices.Clone(n.synced)
	if keep == nil {
		return data
	}
	for _, w := range n.pending {
		if w.data == nil {
			if keep.IntN(2) == 0 {
				data = w.apply(data)
			}
			continue
		}
		for part := range sectors(w) {
			if keep.IntN(2) == 0 {
				data = part.apply(data)
			}
		}
	}
	return data
}

// sectors cuts a write at the sector boundaries of the file.
func sectors(w memWrite) func(yield func(memWrite) bool) {
	return func(yield func(memWrite) bool) {
		off, rest := w.off, w.data
		for len(rest) > 0 {
			n := min(int64(len(rest)), sectorSize-off%sectorSize)
			if !yield(memWrite{off: off, data: rest[:n:n]}) {
				return
			}
			off, rest = off+n, rest[n:]
		}
	}
}
