package overlay

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/samsalog/samsa/vfs"
)

// contents is the open side of a file: one set of descriptors for all who have it open.
type contents struct {
	users int // guarded by FS.mu
	// changing is held for writing while the layers change, for reading while bytes go into the blob.
	changing sync.RWMutex
	now      atomic.Pointer[layers]
	// old are files that were replaced; Regions may still refer to them.
	old []vfs.File
	// unlisted: the blob's name may not be durable.
	unlisted atomic.Bool
}

// layers are where the bytes of a file are: limit bytes in base, all that follows in blob. An unchanged file has no
// blob, and no limit.
type layers struct {
	base  vfs.File
	limit int64
	blob  vfs.File
}

// acquire opens the descriptors for the first user. Called under FS.mu.
func (n *node) acquire(f *FS) error {
	if n.opened.users++; n.opened.users > 1 {
		return nil
	}
	l, err := f.openLayers(n.base, n.limit, n.blob)
	if err != nil {
		n.opened.users--
		return err
	}
	n.opened.unlisted.Store(n.blob != 0)
	n.opened.now.Store(l)
	return nil
}

func (f *FS) openLayers(base string, limit int64, blob uint64) (*layers, error) {
	l := &layers{limit: limit}
	var err error
	if base != "" && (limit > 0 || blob == 0) {
		if l.base, err = f.o.Base.OpenFile(base, os.O_RDONLY, 0); err != nil {
			return nil, err
		}
	}
	if blob != 0 {
		if l.blob, err = f.o.Scratch.OpenFile(f.blobPath(blob), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			if l.base != nil {
				_ = l.base.Close() // only opened for reading
			}
			return nil, err
		}
	}
	return l, nil
}

// let closes the descriptors with the last user. Called under FS.mu.
func (n *node) let(f *FS) error {
	c := &n.opened
	if c.users--; c.users > 0 {
		return nil
	}
	l := c.now.Swap(nil)
	var errs []error
	for _, file := range append(c.old, l.base, l.blob) {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	c.old = nil
	if n.removed && n.blob != 0 {
		f.dropped = append(f.dropped, n.blob)
	}
	return errors.Join(errs...)
}

// file is an open file of one user.
type file struct {
	fs       *FS
	n        *node
	name     string
	writable bool
	closed   atomic.Bool
}

var _ vfs.Layered = (*file)(nil)

func (x *file) Name() string { return x.name }

// usable returns the layers as of now.
func (x *file) usable(op string, write bool) (*layers, error) {
	l := x.n.opened.now.Load()
	switch {
	case x.closed.Load() || l == nil:
		return nil, pathError(op, x.name, fs.ErrClosed)
	case write && !x.writable:
		return nil, pathError(op, x.name, syscall.EBADF)
	}
	return l, nil
}

func (x *file) ReadAt(p []byte, off int64) (int, error) {
	l, err := x.usable("read", false)
	if err != nil {
		return 0, err
	}
	return l.readAt(p, off)
}

func (l *layers) readAt(p []byte, off int64) (n int, err error) {
	if l.blob == nil {
		return l.base.ReadAt(p, off)
	}
	if off >= l.limit {
		return l.blob.ReadAt(p, off-l.limit)
	}
	n, err = l.base.ReadAt(p[:min(int64(len(p)), l.limit-off)], off)
	if err != nil || n == len(p) {
		return n, err
	}
	more, err := l.blob.ReadAt(p[n:], 0)
	return n + more, err
}

// Part implements vfs.Layered.
func (x *file) Part(off int64, length int) (vfs.File, int64, bool) {
	l := x.n.opened.now.Load()
	switch {
	case l == nil || x.closed.Load():
		return nil, 0, false
	case l.blob == nil, off+int64(length) <= l.limit:
		return l.base, off, true
	case off >= l.limit:
		return l.blob, off - l.limit, true
	}
	return nil, 0, false
}

func (x *file) Size() (int64, error) {
	l, err := x.usable("stat", false)
	if err != nil {
		return 0, err
	}
	return l.size()
}

func (l *layers) size() (int64, error) {
	if l.blob == nil {
		return l.base.Size()
	}
	n, err := l.blob.Size()
	return l.limit + n, err
}

func (x *file) WriteAt(p []byte, off int64) (int, error) {
	l, err := x.usable("write", true)
	switch {
	case err != nil:
		return 0, err
	case off < 0:
		return 0, pathError("write", x.name, fs.ErrInvalid)
	case len(p) == 0:
		return 0, nil
	}
	c := &x.n.opened
	c.changing.RLock()
	for l = c.now.Load(); l.blob == nil || off < l.limit; l = c.now.Load() {
		c.changing.RUnlock()
		x.fs.mu.Lock()
		err := x.fs.prepare(x.n, off)
		x.fs.mu.Unlock()
		if err != nil {
			return 0, pathError("write", x.name, err)
		}
		c.changing.RLock()
	}
	defer c.changing.RUnlock()
	return l.blob.WriteAt(p, off-l.limit)
}

func (x *file) Truncate(size int64) error {
	if _, err := x.usable("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", x.name, fs.ErrInvalid)
	}
	x.fs.mu.Lock()
	defer x.fs.mu.Unlock()
	return pathError("truncate", x.name, x.fs.truncate(x.n, size))
}

// Sync makes the changed bytes durable, and what the journal says of them.
func (x *file) Sync() error {
	l, err := x.usable("sync", false)
	if err != nil || l.blob == nil {
		return err
	}
	if err := x.syncBlob(); err != nil {
		return err
	}
	return x.fs.sync()
}

func (x *file) syncBlob() error {
	c := &x.n.opened
	c.changing.RLock()
	defer c.changing.RUnlock()
	if err := c.now.Load().blob.Sync(); err != nil || !c.unlisted.Load() {
		return err
	}
	if err := x.fs.o.Scratch.SyncDir(x.fs.blobDir()); err != nil {
		return err
	}
	c.unlisted.Store(false)
	return nil
}

func (x *file) Close() error {
	if x.closed.Swap(true) {
		return pathError("close", x.name, fs.ErrClosed)
	}
	x.fs.mu.Lock()
	defer x.fs.mu.Unlock()
	return x.n.let(x.fs)
}
