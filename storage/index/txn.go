package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// txnEntry is the size of a .txnindex entry.
//
//	pos  size  field
//	0    2     version, 0
//	2    8     producer id
//	10   8     first offset of the transaction
//	18   8     last offset: that of the abort marker
//	26   8     last stable offset once the transaction was completed
const txnEntry = 34

// txnChunk is how many entries are read at once.
const txnChunk = blockBytes / txnEntry

// AbortedTxn is one aborted transaction of a partition.
type AbortedTxn struct {
	ProducerID       record.ProducerID
	FirstOffset      record.Offset
	LastOffset       record.Offset
	LastStableOffset record.Offset
}

// Txn is the index of the aborted transactions whose markers are in one segment. The file appears with the first
// entry, so most segments have none.
type Txn struct {
	pool *vfs.Handles
	base record.Offset

	handle atomic.Pointer[vfs.Handle] // nil while there is no file
	count  atomic.Int64               // entries; -1 until first use
	// unsaved are the last entries when there was no room for them in the file; the next Append or Sync tries again. It
	// is replaced as a whole, before count when it grows and after the file when it shrinks.
	unsaved atomic.Pointer[unsavedTxns]

	mu    sync.Mutex
	path  string
	last  record.Offset // last offset of the previous Append since opening, -1 none
	dirty bool          // the file was changed since the last Sync

	closed bool
}

// unsavedTxns are the entries from index first on.
type unsavedTxns struct {
	first int
	list  []AbortedTxn
}

// OpenTxn registers the index at path, which need not exist. Nothing is read.
func OpenTxn(h *vfs.Handles, path string, base record.Offset) (*Txn, error) {
	x := &Txn{pool: h, path: path, base: base, last: record.NoOffset}
	x.count.Store(-1)
	return x, nil
}

// load finds out how many entries there are.
func (x *Txn) load() (int, error) {
	if n := x.count.Load(); n >= 0 {
		return int(n), nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.loadLocked()
}

func (x *Txn) loadLocked() (int, error) {
	if n := x.count.Load(); n >= 0 {
		return int(n), nil
	}
	if x.closed {
		return 0, &fs.PathError{Op: "open", Path: x.path, Err: fs.ErrClosed}
	}
	info, err := x.pool.FS().Stat(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		x.count.Store(0)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := info.Size() / txnEntry // a short tail is ignored
	x.handle.Store(x.pool.Lazy(x.path, os.O_RDWR))
	x.count.Store(n)
	return int(n), nil
}

// Append adds an entry. Its last offset must be above that of the entry appended before.
func (x *Txn) Append(a AbortedTxn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, err := x.loadLocked()
	if err != nil {
		return err
	}
	if x.closed {
		return &fs.PathError{Op: "write", Path: x.path, Err: fs.ErrClosed}
	}
	if a.LastOffset <= x.last {
		return fmt.Errorf("%s: %w: abort at offset %d after %d", x.path, ErrOutOfOrder, a.LastOffset, x.last)
	}
	next := unsavedTxns{first: n}
	if u := x.unsaved.Load(); u != nil {
		next.first, next.list = u.first, slices.Clone(u.list)
	}
	next.list = append(next.list, a)
	err = x.writeLocked(&next)
	switch {
	case err == nil:
		x.unsaved.Store(nil)
	case vfs.IsShortage(err): // the marker is in the log: its entry must not get lost
		x.unsaved.Store(&next)
	default:
		return err
	}
	x.last = a.LastOffset
	x.count.Store(int64(n + 1))
	return nil
}

// writeLocked puts entries into the file, which it creates if need be.
func (x *Txn) writeLocked(u *unsavedTxns) error {
	h := x.handle.Load()
	if h == nil {
		var err error
		if h, err = x.pool.Open(x.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			return err
		}
		x.handle.Store(h)
	}
	f, err := h.Acquire()
	if err != nil {
		return err
	}
	defer h.Release()
	var raw []byte
	for _, a := range u.list {
		raw = a.append(raw)
	}
	x.dirty = true
	if _, err := f.WriteAt(raw, int64(u.first)*txnEntry); err != nil {
		return fmt.Errorf("transaction index %s: %w", x.path, err)
	}
	return nil
}

// saveLocked writes the entries for which there was no room before.
func (x *Txn) saveLocked() error {
	u := x.unsaved.Load()
	if u == nil || x.closed {
		return nil
	}
	if err := x.writeLocked(u); err != nil {
		return err
	}
	x.unsaved.Store(nil)
	return nil
}

func (a AbortedTxn) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.ProducerID))
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.FirstOffset))
	dst = binary.BigEndian.AppendUint64(dst, uint64(a.LastOffset))
	return binary.BigEndian.AppendUint64(dst, uint64(a.LastStableOffset))
}

// decodeTxn reads entry i of file.
func decodeTxn(file string, i int, raw []byte) (AbortedTxn, error) {
	if v := int16(binary.BigEndian.Uint16(raw)); v != 0 {
		return AbortedTxn{}, &record.CorruptError{File: file, Position: int64(i) * txnEntry, Offset: record.NoOffset,
			Reason: fmt.Sprintf("entry of version %d", v)}
	}
	at := func(p int) int64 { return int64(binary.BigEndian.Uint64(raw[p:])) }
	return AbortedTxn{
		ProducerID: record.ProducerID(at(2)), FirstOffset: record.Offset(at(10)),
		LastOffset: record.Offset(at(18)), LastStableOffset: record.Offset(at(26)),
	}, nil
}

// scan calls visit for the entries from index from on until it returns false.
func (x *Txn) scan(from, n int, visit func(i int, a AbortedTxn) bool) error {
	if u := x.unsaved.Load(); u != nil && n > u.first {
		if more, err := x.scanUntil(from, min(n, u.first), visit); err != nil || !more {
			return err
		}
		for i := max(from, u.first); i < min(n, u.first+len(u.list)); i++ {
			if !visit(i, u.list[i-u.first]) {
				return nil
			}
		}
		return nil
	}
	_, err := x.scanUntil(from, n, visit)
	return err
}

// scanUntil is scan for entries that are in the file; more is false once visit returned false.
func (x *Txn) scanUntil(from, n int, visit func(i int, a AbortedTxn) bool) (more bool, err error) {
	if from >= n {
		return true, nil
	}
	h := x.handle.Load()
	if h == nil {
		return true, nil
	}
	f, err := h.Acquire()
	if err != nil {
		return false, err
	}
	defer h.Release()
	buf := blocks.Get().(*block)
	defer blocks.Put(buf)
	for i := from; i < n; {
		chunk := buf.bytes[:min(txnChunk, n-i)*txnEntry]
		if got, err := f.ReadAt(chunk, int64(i)*txnEntry); got < len(chunk) {
			return false, fmt.Errorf("transaction index %s: entry %d: %w", h.Name(), i, err)
		}
		for ; len(chunk) > 0; chunk, i = chunk[txnEntry:], i+1 {
			a, err := decodeTxn(h.Name(), i, chunk)
			if err != nil {
				return false, err
			}
			if !visit(i, a) {
				return false, nil
			}
		}
	}
	return true, nil
}

// Collect returns the transactions that overlap the offsets from … to-1, in marker order. complete means that no
// later segment can hold another one.
func (x *Txn) Collect(from, to record.Offset) (list []AbortedTxn, complete bool, err error) {
	n, err := x.load()
	if err != nil {
		return nil, false, err
	}
	start, err := x.seek(n, from)
	if err != nil {
		return nil, false, err
	}
	err = x.scan(start, n, func(_ int, a AbortedTxn) bool {
		if a.LastOffset >= from && a.FirstOffset < to {
			list = append(list, a)
		}
		complete = a.LastStableOffset >= to
		return !complete
	})
	return list, complete, err
}

// seek returns an entry at or before the first one whose last offset is ≥ from, by halving over chunks: last offsets
// rise in the file.
func (x *Txn) seek(n int, from record.Offset) (int, error) {
	lo, hi := 0, (n+txnChunk-1)/txnChunk // chunks below lo begin below from, chunks from hi on do not
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		var first record.Offset
		if err := x.scan(mid*txnChunk, min(n, mid*txnChunk+1), func(_ int, a AbortedTxn) bool { first = a.LastOffset; return false }); err != nil {
			return 0, err
		}
		if first < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return max(0, lo-1) * txnChunk, nil
}

// Entries returns the number of entries; 0 when the file cannot be read.
func (x *Txn) Entries() int {
	n, err := x.load()
	if err != nil {
		return 0
	}
	return n
}

// All returns every entry.
func (x *Txn) All() ([]AbortedTxn, error) {
	n, err := x.load()
	if err != nil {
		return nil, err
	}
	var list []AbortedTxn
	err = x.scan(0, n, func(_ int, a AbortedTxn) bool { list = append(list, a); return true })
	return list, err
}

// Sanity checks that every entry can be read and none ends below the segment's base.
func (x *Txn) Sanity() error {
	n, err := x.load()
	if err != nil {
		return err
	}
	var bad error
	err = x.scan(0, n, func(i int, a AbortedTxn) bool {
		if a.LastOffset < x.base {
			bad = &record.CorruptError{File: x.Path(), Position: int64(i) * txnEntry, Offset: a.LastOffset,
				Reason: fmt.Sprintf("transaction ends below the segment's base %d", x.base)}
		}
		return bad == nil
	})
	return errors.Join(err, bad)
}

// Truncate removes the entries from the first one on whose last offset is ≥ off.
func (x *Txn) Truncate(off record.Offset) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, err := x.loadLocked()
	if err != nil {
		return err
	}
	keep, last := 0, record.NoOffset
	err = x.scan(0, n, func(i int, a AbortedTxn) bool {
		if a.LastOffset >= off {
			return false
		}
		keep, last = i+1, a.LastOffset
		return true
	})
	if err != nil {
		return err
	}
	return x.cutLocked(keep, last)
}

// Reset removes all entries, whatever the file holds.
func (x *Txn) Reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, err := x.loadLocked(); err != nil {
		return err
	}
	return x.cutLocked(0, record.NoOffset)
}

// cutLocked keeps the first n entries; last is the last offset of the last one.
func (x *Txn) cutLocked(n int, last record.Offset) error {
	if err := x.saveLocked(); n > 0 && err != nil {
		return err
	}
	x.unsaved.Store(nil)
	x.count.Store(int64(n))
	x.last = last
	h := x.handle.Load()
	if h == nil {
		return nil
	}
	f, err := h.Acquire()
	if err != nil {
		return err
	}
	defer h.Release()
	x.dirty = true
	if err := f.Truncate(int64(n) * txnEntry); err != nil {
		return fmt.Errorf("transaction index %s: %w", x.path, err)
	}
	return nil
}

// Sync makes all entries durable; it does nothing when none was changed since the last Sync.
func (x *Txn) Sync() error {
	x.mu.Lock()
	if err := x.saveLocked(); err != nil {
		x.mu.Unlock()
		return err
	}
	h, dirty := x.handle.Load(), x.dirty && !x.closed
	x.dirty = false
	x.mu.Unlock()
	if h == nil || !dirty {
		return nil
	}
	f, err := h.Acquire()
	if err == nil {
		err = f.Sync()
		h.Release()
	}
	if err != nil {
		x.mu.Lock()
		x.dirty = true
		x.mu.Unlock()
		return fmt.Errorf("transaction index %s: %w", x.Path(), err)
	}
	return nil
}

// Path returns the file's current path, whether it exists or not.
func (x *Txn) Path() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.path
}

// Exists reports whether there is a file.
func (x *Txn) Exists() (bool, error) {
	if _, err := x.load(); err != nil {
		return false, err
	}
	return x.handle.Load() != nil, nil
}

// Close gives the file up; entries that were not synced stay in the page cache.
func (x *Txn) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	if h := x.handle.Load(); h != nil {
		return h.Close()
	}
	return nil
}

// Renamed tells that the file was renamed, or that it will be created under another name.
func (x *Txn) Renamed(path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.path = path
	if h := x.handle.Load(); h != nil {
		h.Renamed(path)
	}
}
