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
// many unsynced changes, but what was moved to another directory keeps its old name until it has the new one. The
// same seed on the same history leaves the same (VFS-2).
func (m *Mem) CrashKeeping(seed uint64) *Mem {
	return m.crash(rand.New(rand.NewPCG(seed, 0x5a4d5a)))
}

func (m *Mem) crash(keep *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := NewMem()
	out.total = m.total
	out.root = (&crash{keep: keep, seen: map[*memNode]*memNode{}, kept: map[*memNode]int{}}).node(m.root)
	return out
}

// crash is one power failure.
type crash struct {
	keep *rand.Rand
	// seen are copies, kept how many unsynced changes of a directory were made.
	seen map[*memNode]*memNode
	kept map[*memNode]int
}

// changes returns how many of the unsynced changes of a directory are on the disk.
func (x *crash) changes(n *memNode) int {
	if k, ok := x.kept[n]; ok || x.keep == nil {
		return k
	}
	k := x.keep.IntN(len(n.changes) + 1)
	x.kept[n] = k
	for i, c := range n.changes[:k] {
		if c.to != nil && c.to.done+x.changes(c.to) < c.after {
			x.kept[n] = i
			break
		}
	}
	return x.kept[n]
}

// node copies a node as the disk has it. A node that two directories name (an unsynced move) is copied once.
func (x *crash) node(n *memNode) *memNode {
	if c := x.seen[n]; c != nil {
		return c
	}
	c := &memNode{mode: n.mode, modTime: n.modTime}
	x.seen[n] = c
	if !n.isDir() {
		c.data = crashData(n, x.keep)
		c.synced = slices.Clone(c.data)
		return c
	}
	names := maps.Clone(n.durable)
	for _, change := range n.changes[:x.changes(n)] {
		change.apply(names)
	}
	c.entries = make(map[string]*memNode, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) { // sorted: the random source must not see map order
		c.entries[name] = x.node(names[name])
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
