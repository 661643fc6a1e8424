package vfs

import (
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// Handles keeps at most max files open. Whoever registers a file gets a [Handle]; the descriptor behind it is opened
// when it is used and closed again when others need the room, so that any number of segments can be served within
// the descriptor limit of the process. An open costs about 4 µs, next to nothing on the way of a request.
//
// A written file may be closed with unsynced pages: they stay in the page cache, and a later Sync through a new
// descriptor writes them (and reports a write-back error nobody has seen yet).
type Handles struct {
	fs   FS
	max  int
	open atomic.Int64 // len(ring), for the check in Release

	mu   sync.Mutex
	ring []*Handle // open handles, unordered; Handle.slot is the index here
	hand int       // clock hand of the second-chance eviction
}

// NewHandles returns a pool over fs that keeps at most limit files open (at least 1).
func NewHandles(fs FS, limit int) *Handles {
	return &Handles{fs: fs, max: max(limit, 1)}
}

// FS returns the file system that the pool opens files of.
func (h *Handles) FS() FS { return h.fs }

// OpenCount returns how many descriptors are open now.
func (h *Handles) OpenCount() int { return int(h.open.Load()) }

// Handle is a registered file. See [Handles].
type Handle struct {
	pool *Handles
	// state holds the number of references in its low bits, handleOpen while file is valid, handleClosed for good
	// once the owner has called Close.
	state atomic.Int64
	used  atomic.Bool // second chance: used since the clock hand passed
	file  File        // valid while handleOpen is set; written under mu when it is not
	slot  int         // index in pool.ring, guarded by pool.mu

	mu   sync.Mutex // guards opening and closing
	name string
	flag int
}

const (
	handleOpen   int64 = 1 << 62
	handleClosed int64 = 1 << 61
	handleRefs         = handleClosed - 1
)

// Open opens name now and registers it. A later reopening uses flag without O_CREATE, O_TRUNC and O_EXCL.
func (h *Handles) Open(name string, flag int, perm fs.FileMode) (*Handle, error) {
	x := h.Lazy(name, flag)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.openLocked(flag, perm); err != nil {
		return nil, err
	}
	return x, nil
}

// Lazy registers name without opening it; that it exists is found out by the first Acquire.
func (h *Handles) Lazy(name string, flag int) *Handle {
	return &Handle{pool: h, name: name, flag: flag &^ (os.O_CREATE | os.O_TRUNC | os.O_EXCL)}
}

// Acquire returns the open file and keeps it open until Release. After Close it fails with fs.ErrClosed. The file
// must not be closed by the caller.
func (x *Handle) Acquire() (File, error) {
	for {
		s := x.state.Load()
		switch {
		case s&handleClosed != 0:
			return nil, &fs.PathError{Op: "open", Path: x.Name(), Err: fs.ErrClosed}
		case s&handleOpen == 0:
			if err := x.reopen(); err != nil {
				return nil, err
			}
		case x.state.CompareAndSwap(s, s+1):
			if !x.used.Load() { // spare the shared cache line when it says so already
				x.used.Store(true)
			}
			return x.file, nil
		}
	}
}

// Release gives back what Acquire returned.
func (x *Handle) Release() {
	s := x.state.Add(-1)
	if s&handleRefs != 0 {
		return
	}
	if s&handleClosed != 0 {
		x.mu.Lock()
		_ = x.closeLocked() // nobody is left to tell; the data was synced or given up by the owner
		x.mu.Unlock()
		return
	}
	if x.pool.open.Load() > int64(x.pool.max) {
		x.pool.shrink()
	}
}

// reopen opens the file unless somebody else just did.
func (x *Handle) reopen() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.Load()&(handleOpen|handleClosed) != 0 {
		return nil
	}
	return x.openLocked(x.flag, 0)
}

// openLocked opens the file and enters it into the pool; x.mu is held and the handle is not open.
func (x *Handle) openLocked(flag int, perm fs.FileMode) error {
	x.pool.evict(x.pool.max - 1)
	var f File
	// The process or the host may run out of descriptors before the pool does.
	err := x.pool.relieve(func() (err error) { f, err = x.pool.fs.OpenFile(x.name, flag, perm); return err })
	if err != nil {
		return err
	}
	x.file = f
	x.used.Store(true)
	x.pool.add(x)
	x.state.Or(handleOpen) // publishes file; last, since from here on Acquire takes the fast path
	return nil
}

// closeLocked closes the descriptor if it is open and nobody refers to it; x.mu is held.
func (x *Handle) closeLocked() error {
	f := x.detachLocked()
	if f == nil {
		return nil
	}
	x.pool.remove(x)
	return f.Close()
}

// detachLocked takes the file out of an open handle without references; nil when there is none to take.
func (x *Handle) detachLocked() File {
	for {
		s := x.state.Load()
		if s&handleOpen == 0 || s&handleRefs != 0 {
			return nil
		}
		if x.state.CompareAndSwap(s, s&^handleOpen) {
			f := x.file
			x.file = nil
			return f
		}
	}
}

// Close ends the handle. The descriptor is closed now or, when it is acquired, by the last Release (VFS-3).
func (x *Handle) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state.Or(handleClosed)
	return x.closeLocked()
}

// Renamed tells that the file is now called newName; later openings use that name.
func (x *Handle) Renamed(newName string) {
	x.mu.Lock()
	x.name = newName
	x.mu.Unlock()
}

// Name returns the current path.
func (x *Handle) Name() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.name
}

func (h *Handles) add(x *Handle) {
	h.mu.Lock()
	x.slot = len(h.ring)
	h.ring = append(h.ring, x)
	h.open.Store(int64(len(h.ring)))
	h.mu.Unlock()
}

func (h *Handles) remove(x *Handle) {
	h.mu.Lock()
	h.removeLocked(x)
	h.mu.Unlock()
}

func (h *Handles) removeLocked(x *Handle) {
	last := len(h.ring) - 1
	h.ring[x.slot] = h.ring[last]
	h.ring[x.slot].slot = x.slot
	h.ring[last] = nil
	h.ring = h.ring[:last]
	h.open.Store(int64(last))
}

// shrink closes what was opened above the bound while everything was acquired.
func (h *Handles) shrink() { h.evict(h.max) }

// evict closes idle files until at most target are open or none is idle (VFS-4). It goes round at most twice: the
// first round takes the second chance away from those used lately.
func (h *Handles) evict(target int) {
	if h.open.Load() <= int64(target) {
		return
	}
	var victims []File
	h.mu.Lock()
	for steps := 2 * len(h.ring); steps > 0 && len(h.ring) > target; steps-- {
		if h.hand >= len(h.ring) {
			h.hand = 0
		}
		x := h.ring[h.hand]
		if x.used.Swap(false) || x.state.Load()&handleRefs != 0 || !x.mu.TryLock() {
			h.hand++
			continue
		}
		if f := x.detachLocked(); f != nil {
			h.removeLocked(x)
			victims = append(victims, f)
		} else {
			h.hand++
		}
		x.mu.Unlock()
	}
	h.mu.Unlock()
	for _, f := range victims {
		_ = f.Close() // the data stays in the page cache: see Handles
	}
}
