package overlay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/samsalog/samsa/vfs"
)

// What keeps an overlay from being opened. Compare with errors.Is.
var (
	// ErrChanged: the scratch directory was made over another state of the base.
	ErrChanged = errors.New("the directory has changed since this scratch directory was made over it")
	// ErrInside: the scratch directory lies in one of the directories that must not change.
	ErrInside = errors.New("the scratch directory lies inside of a directory that is to be left alone")
	// ErrInUse: a broker works on a base directory.
	ErrInUse = errors.New("a broker is running on it")
)

// Options is what an overlay is made of.
type Options struct {
	// Base is only read.
	Base vfs.FS
	// Scratch is the file system of Dir, which is created if it is missing.
	Scratch vfs.FS
	Dir     string
	// Roots are the directories that the overlay is made for: a scratch directory that was used before has to find
	// them unchanged, and no broker may run on them. Paths elsewhere are overlaid all the same.
	Roots []string
}

// FS is the overlay. It implements vfs.FS; all paths are made absolute.
type FS struct {
	o       Options
	lock    io.Closer // of the scratch directory
	guards  []guard
	journal *journal

	mu    sync.Mutex // names: all nodes but for what they say of contents
	root  *node
	held  map[*node]bool // locked files
	blobs uint64         // number of the newest blob
	// dropped are blobs that no name leads to any more; they go when the journal that says so is durable (OVL-4).
	dropped []uint64
}

var _ vfs.FS = (*FS)(nil)

// Open makes or continues an overlay. Close it when no file is open any more.
func Open(o Options) (*FS, error) {
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	o.Roots = append([]string(nil), o.Roots...)
	for i, root := range o.Roots {
		if o.Roots[i], err = filepath.Abs(root); err != nil {
			return nil, err
		}
		if within(o.Dir, o.Roots[i]) {
			return nil, fmt.Errorf("%w: %s in %s", ErrInside, o.Dir, o.Roots[i])
		}
	}
	f := &FS{o: o, held: map[*node]bool{}, root: rootNode()}
	if err := f.open(); err != nil {
		f.release()
		return nil, fmt.Errorf("scratch directory %s: %w", o.Dir, err)
	}
	return f, nil
}

func (f *FS) open() (err error) {
	if err := f.o.Scratch.MkdirAll(f.blobDir(), 0o700); err != nil {
		return err
	}
	for _, dir := range []string{f.o.Dir, filepath.Dir(f.o.Dir)} {
		if err := f.o.Scratch.SyncDir(dir); err != nil {
			return err
		}
	}
	if f.lock, err = f.o.Scratch.Lock(filepath.Join(f.o.Dir, "lock")); err != nil {
		return err
	}
	if err := f.guard(); err != nil {
		return err
	}
	if err := f.checkBase(); err != nil {
		return err
	}
	return f.recover()
}

// Close makes changes of names durable and releases the locks.
func (f *FS) Close() error {
	err := f.sync()
	f.release()
	return err
}

func (f *FS) release() {
	if f.journal != nil {
		_ = f.journal.file.Close() // it was synced as far as anybody asked
	}
	for _, g := range f.guards {
		g.close()
	}
	if f.lock != nil {
		_ = f.lock.Close() // nothing was written to it
	}
}

func (f *FS) blobDir() string { return filepath.Join(f.o.Dir, "blobs") }
func (f *FS) blobPath(number uint64) string {
	return filepath.Join(f.blobDir(), fmt.Sprintf("%016x", number))
}

// Dir is the scratch directory.
func (f *FS) Dir() string { return f.o.Dir }

// OpenFile opens name; only opening for writing with O_TRUNC and creating change anything.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.openLocked(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &file{fs: f, n: n, name: name, writable: flag&(os.O_WRONLY|os.O_RDWR) != 0}, nil
}

func (f *FS) openLocked(name string, flag int, perm fs.FileMode) (*node, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	dir, n, err := f.find(path)
	switch {
	case err != nil:
		return nil, err
	case n == nil && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case n == nil:
		if n, err = f.create(dir, path, perm); err != nil {
			return nil, err
		}
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case n.dir:
		return nil, syscall.EISDIR
	}
	if err := n.acquire(f); err != nil {
		return nil, err
	}
	if flag&os.O_TRUNC != 0 {
		if err := f.truncate(n, 0); err != nil {
			n.let(f)
			return nil, err
		}
	}
	return n, nil
}

// create makes an empty file.
func (f *FS) create(dir *node, path string, perm fs.FileMode) (*node, error) {
	number, err := f.newBlob()
	if err != nil {
		return nil, err
	}
	err = f.change(record{Op: opFile, Path: path, Blob: number, Mode: uint32(perm.Perm())})
	return dir.children[filepath.Base(path)], err
}

// MkdirAll creates dir and its missing parents.
func (f *FS) MkdirAll(dir string, perm fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, p := range prefixes(path) {
		_, n, err := f.find(p)
		switch {
		case err != nil:
			return pathError("mkdir", dir, err)
		case n == nil:
			if err := f.change(record{Op: opDir, Path: p, Mode: uint32(perm.Perm())}); err != nil {
				return pathError("mkdir", dir, err)
			}
		case !n.dir:
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
	}
	return nil
}

// Remove removes a file or an empty directory.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, n, err := f.mustFind(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	if n.dir {
		list, err := f.list(n)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return pathError("remove", name, syscall.ENOTEMPTY)
		}
	}
	return pathError("remove", name, f.change(record{Op: opGone, Path: path}))
}

// RemoveAll removes a tree, as one change; a missing one is no error.
func (f *FS) RemoveAll(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, _, err := f.mustFind(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err == nil {
		err = f.change(record{Op: opGone, Path: path})
	}
	return pathError("remove", name, err)
}

// Rename moves a file or directory, replacing a file or an empty directory.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pathError("rename", from, f.renameLocked(from, to))
}

func (f *FS) renameLocked(from, to string) error {
	path, n, err := f.mustFind(from)
	if err != nil {
		return err
	}
	target, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	_, old, err := f.find(target)
	switch {
	case err != nil:
		return err
	case old == n:
		return nil
	case within(target, path):
		return syscall.EINVAL
	case old != nil && old.dir != n.dir:
		return syscall.EEXIST
	case old != nil && old.dir:
		list, err := f.list(old)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return syscall.ENOTEMPTY
		}
	}
	return f.change(record{Op: opMove, Path: path, To: target})
}

// Stat describes a file or directory.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, n, err := f.mustFind(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return f.info(n)
}

// ReadDir lists a directory in name order.
func (f *FS) ReadDir(dir string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, n, err := f.mustFind(dir)
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("readdir", dir, err)
	}
	return f.list(n)
}

// SyncDir makes all changes of names durable, those elsewhere too.
func (f *FS) SyncDir(dir string) error {
	info, err := f.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return pathError("sync", dir, err)
	}
	return f.sync()
}

// Chtimes sets a file's modification time.
func (f *FS) Chtimes(name string, modTime time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, n, err := f.mustFind(name)
	if err != nil {
		return pathError("chtimes", name, err)
	}
	if n.blob != 0 {
		return f.o.Scratch.Chtimes(f.blobPath(n.blob), modTime)
	}
	return f.change(record{Op: opTime, Path: path, Time: modTime.UnixNano()})
}

// Lock takes the lock of a file, creating it, among those who use this overlay. That no broker works on the base is
// seen to by Open.
func (f *FS) Lock(name string) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.openLocked(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil && f.held[n] {
		n.let(f)
		err = vfs.ErrLocked
	}
	if err != nil {
		return nil, pathError("lock", name, err)
	}
	f.held[n] = true
	return &heldLock{f, n}, nil
}

// heldLock is a held lock.
type heldLock struct {
	fs *FS
	n  *node
}

func (l *heldLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.fs.held[l.n] {
		delete(l.fs.held, l.n)
		l.n.let(l.fs)
	}
	return nil
}

// Usage is that of the scratch directory, where everything is written.
func (f *FS) Usage(string) (total, usable uint64, err error) { return f.o.Scratch.Usage(f.o.Dir) }

func pathError(op, name string, err error) error {
	var already *fs.PathError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
