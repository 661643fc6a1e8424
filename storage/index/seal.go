package index

import (
	"fmt"
	"os"

	"github.com/samsalog/samsa/vfs"
)

// Seal writes what is on the heap only, trims the file to its entries and makes the index immutable. It does not
// sync.
func (t *table) Seal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.active {
		return nil
	}
	if t.view.Load() == nil || t.asFound { // never written: the file holds what it held when it was opened
		t.active = false
		return nil
	}
	v, err := t.loadLocked()
	if err != nil {
		return err
	}
	if err := t.saveLocked(v); err != nil {
		return err
	}
	if err := t.resizeLocked(v.count()); err != nil {
		return err
	}
	entries, n := v.entries(t.size)
	sealed := &view{first: max(v.first, n-warmBytes/t.size)}
	sealed.n.Store(int64(n))
	sealed.heap = append([]byte(nil), entries[(sealed.first-v.first)*t.size:]...)
	sealed.blocks.Store(v.blocks.Load().grown(t.blockCount(sealed.first)))
	t.view.Store(sealed)
	t.active = false
	return nil
}

// Activate makes a sealed index writable, with all entries that it has. Nothing is opened or read before the first use.
func (t *table) Activate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active || t.closed {
		return
	}
	t.active, t.asFound = true, true
	_ = t.handle.Swap(t.pool.Lazy(t.path, os.O_RDWR)).Close() // it was read only: nothing to lose
}

// Sync makes all entries durable. An index that was not changed since the last Sync is not touched.
func (t *table) Sync() error {
	h, err := t.beginSync()
	if h == nil {
		return err
	}
	f, err := h.Acquire()
	if err == nil {
		err = f.Sync()
		h.Release()
	}
	if err != nil {
		t.mu.Lock()
		t.dirty = true
		t.mu.Unlock()
		return fmt.Errorf("index %s: %w", t.Path(), err)
	}
	return nil
}

// beginSync saves the heap and returns the handle to sync, nil when there is nothing to do.
func (t *table) beginSync() (*vfs.Handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.view.Load(); v != nil && t.active && !t.closed {
		if err := t.saveLocked(v); err != nil {
			return nil, err
		}
	}
	if !t.dirty || t.closed {
		return nil, nil
	}
	t.dirty = false
	return t.handle.Load(), nil
}

// Close gives the file up without writing anything: Seal and Sync come before it where entries are to be kept.
// Lookups that need the file fail with fs.ErrClosed from then on.
func (t *table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return t.handle.Load().Close()
}

// Renamed tells that the file was renamed.
func (t *table) Renamed(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.path = path
	t.handle.Load().Renamed(path)
}
