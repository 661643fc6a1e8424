package index

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

const (
	// warmBytes is how much of the end of an index is on the heap at least: Kafka's warm section, three pages and
	// the entries of 4 MiB of log at the default interval.
	warmBytes = 8192
	// heapBytes bounds the heap part of an active index. When it is full the older half is left to the file.
	heapBytes = 2 * warmBytes
	// firstHeap is what an active index begins with; most partitions of a broker hold little.
	firstHeap = 256
	// blockBytes is how much one read of older entries fetches, and how many unsaved bytes are kept at most.
	blockBytes = 4096
	// maxFile bounds an index file: segment.index.bytes is an int32.
	maxFile = 1<<31 - 1
)

// table is what offset and time index share: fixed-size entries of which the last ones are on the heap.
type table struct {
	pool  *vfs.Handles
	base  record.Offset
	size  int // bytes of an entry
	limit int // segment.index.bytes, of which whole entries count

	handle atomic.Pointer[vfs.Handle] // replaced when a sealed index becomes writable
	view   atomic.Pointer[view]       // nil until first use

	mu     sync.Mutex // the writer, Sync, and the first load; never held while a reader works
	path   string
	active bool
	closed bool
	saved  int  // entries that are in the file
	dirty  bool // the file was changed since the last Sync
	// asFound: nothing was appended since Activate took over a file that had been sealed.
	asFound bool
}

// view is what readers see: n entries, of which those from first on are on the heap (IDX-3).
type view struct {
	first  int
	heap   []byte       // entry i stands at (i-first)*size; the bytes after entry n are the writer's
	n      atomic.Int64 // grows only (IDX-4)
	blocks atomic.Pointer[blockKeys]
}

// count returns the number of entries.
func (v *view) count() int { return int(v.n.Load()) }

// entries returns the heap part as of now and the total count.
func (v *view) entries(size int) ([]byte, int) {
	n := v.count()
	return v.heap[:(n-v.first)*size], n
}

// create makes an empty active index, replacing whatever stands at path.
func (t *table) create(path string) error {
	if t.limit < t.size {
		return fmt.Errorf("index %s: limit of %d bytes is less than one entry of %d", path, t.limit, t.size)
	}
	h, err := t.pool.Open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	t.path, t.active, t.dirty = path, true, true
	t.handle.Store(h)
	t.view.Store(&view{})
	return nil
}

// open registers an existing index; nothing is read.
func (t *table) open(path string, active bool) error {
	if active && t.limit < t.size {
		return fmt.Errorf("index %s: limit of %d bytes is less than one entry of %d", path, t.limit, t.size)
	}
	flag := os.O_RDONLY
	if active {
		flag = os.O_RDWR
	}
	t.path, t.active = path, active
	t.handle.Store(t.pool.Lazy(path, flag))
	return nil
}

// load returns the view, reading the end of the file at first use.
func (t *table) load() (*view, error) {
	if v := t.view.Load(); v != nil {
		return v, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loadLocked()
}

func (t *table) loadLocked() (*view, error) {
	if v := t.view.Load(); v != nil {
		return v, nil
	}
	size, err := t.fileSize()
	if err != nil {
		return nil, err
	}
	n := int(size) / t.size // a partial entry at the end is never looked at
	v, err := t.readView(n)
	if err != nil {
		return nil, err
	}
	t.saved = n
	t.view.Store(v)
	return v, nil
}

// fileSize returns the length of the file, checked.
func (t *table) fileSize() (int64, error) {
	h := t.handle.Load()
	f, err := h.Acquire()
	if err != nil {
		return 0, err
	}
	defer h.Release()
	size, err := f.Size()
	if err == nil && size > maxFile {
		err = t.corrupt(0, "an index of %d bytes; the largest possible has %d", size, maxFile)
	}
	return size, err
}

// readView reads the last warmBytes of the first n entries of the file into a new view.
func (t *table) readView(n int) (*view, error) {
	v := &view{first: max(0, n-warmBytes/t.size)}
	v.n.Store(int64(n))
	v.heap = make([]byte, (n-v.first)*t.size)
	return v, t.readAt(v.heap, v.first)
}

// readAt fills dst with whole entries from entry on.
func (t *table) readAt(dst []byte, entry int) error {
	if len(dst) == 0 {
		return nil
	}
	h := t.handle.Load()
	f, err := h.Acquire()
	if err != nil {
		return err
	}
	defer h.Release()
	if n, err := f.ReadAt(dst, int64(entry)*int64(t.size)); n < len(dst) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("index %s: %w", t.Path(), err)
	}
	return nil
}

// appendLocked adds one encoded entry.
func (t *table) appendLocked(v *view, entry []byte) error {
	t.asFound = false
	n := v.count()
	at := (n - v.first) * t.size
	if at+t.size > len(v.heap) {
		var err error
		if v, err = t.growLocked(v); err != nil {
			return err
		}
		at = (n - v.first) * t.size
	}
	copy(v.heap[at:], entry)
	v.n.Store(int64(n + 1)) // publishes the bytes
	if (n+1-t.saved)*t.size >= blockBytes {
		return t.saveLocked(v)
	}
	return nil
}

// growLocked publishes a view with more room: twice the heap or, at the bound, only the warm part of it.
func (t *table) growLocked(v *view) (*view, error) {
	entries, n := v.entries(t.size)
	bigger := &view{first: v.first}
	bigger.n.Store(int64(n))
	bigger.blocks.Store(v.blocks.Load())
	room := max(firstHeap, 2*len(entries))
	if len(entries) >= heapBytes-t.size {
		if err := t.saveLocked(v); err != nil {
			return nil, err
		}
		keep := warmBytes / t.size
		bigger.first = n - keep
		entries = entries[len(entries)-keep*t.size:]
		bigger.blocks.Store(v.blocks.Load().grown(t.blockCount(bigger.first)))
		room = heapBytes
	}
	bigger.heap = make([]byte, min(room, heapBytes)/t.size*t.size)
	copy(bigger.heap, entries)
	t.view.Store(bigger)
	return bigger, nil
}

// saveLocked writes the entries that are only on the heap to the file.
func (t *table) saveLocked(v *view) error {
	n := v.count()
	if t.saved == n {
		return nil
	}
	h := t.handle.Load()
	f, err := h.Acquire()
	if err != nil {
		return err
	}
	defer h.Release()
	t.dirty = true
	unsaved := v.heap[(t.saved-v.first)*t.size : (n-v.first)*t.size]
	if _, err := f.WriteAt(unsaved, int64(t.saved)*int64(t.size)); err != nil {
		return fmt.Errorf("index %s: %w", t.path, err)
	}
	t.saved = n
	return nil
}

// cutLocked keeps the first n entries, makes the index active again and publishes that.
func (t *table) cutLocked(n int) error {
	t.asFound = false
	if v := t.view.Load(); v != nil && n > 0 {
		if err := t.saveLocked(v); err != nil {
			return err
		}
	}
	old, err := t.writableLocked()
	if err != nil {
		return err
	}
	v, err := t.readView(n)
	if err != nil {
		return err
	}
	t.view.Store(v) // before the file changes: a reader that gets to see the change finds the view changed too
	t.saved, t.active = n, true
	if old != nil {
		_ = old.Close() // read only: nothing to lose
	}
	return t.resizeLocked(n)
}

// writableLocked makes sure that the file can be written and exists. It returns the handle that was replaced.
func (t *table) writableLocked() (*vfs.Handle, error) {
	if t.closed {
		return nil, &fs.PathError{Op: "truncate", Path: t.path, Err: fs.ErrClosed}
	}
	h, err := t.pool.Open(t.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return t.handle.Swap(h), nil
}

// resizeLocked makes the file exactly n entries long.
func (t *table) resizeLocked(n int) error {
	h := t.handle.Load()
	f, err := h.Acquire()
	if err != nil {
		return err
	}
	defer h.Release()
	want := int64(n) * int64(t.size)
	if size, err := f.Size(); err != nil || size == want {
		return err
	}
	t.dirty = true
	if err := f.Truncate(want); err != nil {
		return fmt.Errorf("index %s: %w", t.path, err)
	}
	return nil
}

// full reports whether n entries, of which reserve are kept free, reach the limit. A sealed index is full.
func (t *table) full(reserve int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.active {
		return true
	}
	v, err := t.loadLocked()
	return err != nil || v.count() >= t.limit/t.size-reserve
}

// Load reads the end of the index if that has not happened yet. After it returned nil, Entries and the last entry
// are known and cannot fail.
func (t *table) Load() error {
	_, err := t.load()
	return err
}

// Entries returns the number of entries; 0 when the file cannot be read (see Load).
func (t *table) Entries() int {
	v, err := t.load()
	if err != nil {
		return 0
	}
	return v.count()
}

// SizeInBytes returns the length of the entries.
func (t *table) SizeInBytes() int64 { return int64(t.Entries()) * int64(t.size) }

// Path returns the file's current path.
func (t *table) Path() string { return t.handle.Load().Name() }

// Reset empties the index and makes it active, as recovery does before it builds the index anew. A file that is
// missing is created.
func (t *table) Reset() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cutLocked(0)
}
