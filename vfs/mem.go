package vfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory that knows what is durable. [Mem.Crash] shows what a power failure leaves of it.
//
// Durable are a file's content and length at its last Sync, and a directory's entries at its last SyncDir. A new
// directory is an entry of its parent like any other. Removing and renaming obey the same rule, so a file removed
// without SyncDir is back after a crash.
type Mem struct {
	mu    sync.Mutex
	root  *memNode
	locks map[*memNode]int // held alone, or by how many
	total uint64
}

// memSize is the size that Mem reports for itself: 1 TiB.
const memSize = 1 << 40

// NewMem returns an empty file system with a root directory.
func NewMem() *Mem {
	return &Mem{root: newMemDir(), locks: map[*memNode]int{}, total: memSize}
}

// memNode is a file or a directory. Its names are kept by the directories that hold it.
type memNode struct {
	mode    fs.FileMode
	modTime time.Time

	// Files: content now, content as of the last Sync, and the changes between the two in order.
	data    []byte
	synced  []byte
	pending []memWrite

	// Directories: entries now, as of the last SyncDir, and the changes between the two in order.
	entries map[string]*memNode
	durable map[string]*memNode
	changes []memChange
	// done is how many changes there were before.
	done int
}

// memWrite is a change of content that was not synced: bytes written at off, or (data nil) a cut or growth to off.
type memWrite struct {
	off  int64
	data []byte
}

// memChange is a change of one directory that was not synced: names set to nodes, nil for removed. A rename inside
// one directory is one change of two names, since a file system does it as a whole or not at all.
type memChange struct {
	names map[string]*memNode
	// to and after: this is the old name of what was moved to another directory, which goes when that one has had so many changes, and
	// not before: a power failure leaves both names of a move, but not none.
	to    *memNode
	after int
}

func (c memChange) apply(names map[string]*memNode) {
	for name, node := range c.names {
		if node == nil {
			delete(names, name)
		} else {
			names[name] = node
		}
	}
}

func newMemDir() *memNode {
	return &memNode{mode: fs.ModeDir | 0o755, modTime: time.Now(), entries: map[string]*memNode{}, durable: map[string]*memNode{}}
}

func (n *memNode) isDir() bool { return n.entries != nil }

// set changes names of a directory.
func (n *memNode) set(c memChange) {
	c.apply(n.entries)
	n.changes = append(n.changes, c)
	n.modTime = time.Now()
}

// write changes content and remembers the change.
func (n *memNode) write(w memWrite) {
	n.data = w.apply(n.data)
	n.pending = append(n.pending, w)
	n.modTime = time.Now()
}

// apply returns data after the change; data's array may be reused.
func (w memWrite) apply(data []byte) []byte {
	if w.data == nil {
		return resize(data, w.off)
	}
	if end := w.off + int64(len(w.data)); end > int64(len(data)) {
		data = resize(data, end)
	}
	copy(data[w.off:], w.data)
	return data
}

// resize cuts data or extends it with zeros.
func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size]
	}
	old := len(data)
	data = slices.Grow(data, int(size)-old)[:size]
	clear(data[old:])
	return data
}

// parts splits a path into its names; relative paths count from the root.
func parts(name string) []string {
	name = strings.Trim(filepath.ToSlash(filepath.Clean(name)), "/")
	if name == "" || name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// find returns the node at name.
func (m *Mem) find(name string) (*memNode, error) {
	n := m.root
	for _, p := range parts(name) {
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		next := n.entries[p]
		if next == nil {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// parent returns the directory that holds name, and name's last element.
func (m *Mem) parent(name string) (*memNode, string, error) {
	ps := parts(name)
	if len(ps) == 0 {
		return nil, "", fs.ErrInvalid
	}
	dir, err := m.find(strings.Join(ps[:len(ps)-1], "/"))
	if err != nil {
		return nil, "", err
	}
	if !dir.isDir() {
		return nil, "", syscall.ENOTDIR
	}
	return dir, ps[len(ps)-1], nil
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// OpenFile opens or creates a file.
func (m *Mem) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openLocked(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &memFile{fs: m, node: n, name: name, writable: flag&(os.O_WRONLY|os.O_RDWR) != 0}, nil
}

func (m *Mem) openLocked(name string, flag int, perm fs.FileMode) (*memNode, error) {
	dir, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	n := dir.entries[base]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case n == nil:
		n = &memNode{mode: perm & fs.ModePerm, modTime: time.Now()}
		dir.set(memChange{names: map[string]*memNode{base: n}})
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case n.isDir():
		return nil, syscall.EISDIR
	case flag&os.O_TRUNC != 0 && len(n.data) > 0:
		n.write(memWrite{})
	}
	return n, nil
}

// MkdirAll creates dir and its missing parents.
func (m *Mem) MkdirAll(dir string, perm fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, p := range parts(dir) {
		if !n.isDir() {
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
		next := n.entries[p]
		if next == nil {
			next = newMemDir()
			next.mode = fs.ModeDir | perm&fs.ModePerm
			n.set(memChange{names: map[string]*memNode{p: next}})
		}
		n = next
	}
	if !n.isDir() {
		return pathError("mkdir", dir, syscall.ENOTDIR)
	}
	return nil
}

// Remove removes a file or an empty directory.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	n := dir.entries[base]
	if n == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if len(n.entries) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	dir.set(memChange{names: map[string]*memNode{base: nil}})
	return nil
}

// RemoveAll removes a tree; a missing one is no error.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err != nil || dir.entries[base] == nil {
		return nil
	}
	removeTree(dir.entries[base])
	dir.set(memChange{names: map[string]*memNode{base: nil}})
	return nil
}

// removeTree empties a directory name by name, since that is how a tree goes: a crash may show any part of it gone.
func removeTree(n *memNode) {
	for name, child := range n.entries {
		removeTree(child)
		n.set(memChange{names: map[string]*memNode{name: nil}})
	}
}

// Rename moves a file or directory, replacing a file or an empty directory.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return pathError("rename", from, m.renameLocked(from, to))
}

func (m *Mem) renameLocked(from, to string) error {
	src, srcName, err := m.parent(from)
	if err != nil {
		return err
	}
	dst, dstName, err := m.parent(to)
	if err != nil {
		return err
	}
	n, old := src.entries[srcName], dst.entries[dstName]
	switch {
	case n == nil:
		return fs.ErrNotExist
	case n == old:
		return nil
	case old != nil && old.isDir() != n.isDir():
		return syscall.EEXIST
	case old != nil && len(old.entries) > 0:
		return syscall.ENOTEMPTY
	}
	if src == dst {
		src.set(memChange{names: map[string]*memNode{srcName: nil, dstName: n}})
		return nil
	}
	dst.set(memChange{names: map[string]*memNode{dstName: n}})
	src.set(memChange{names: map[string]*memNode{srcName: nil}, to: dst, after: dst.done + len(dst.changes)})
	return nil
}

// Stat describes a file or directory.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return n.info(filepath.Base(name)), nil
}

// ReadDir lists a directory in name order.
func (m *Mem) ReadDir(dir string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(dir)
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("readdir", dir, err)
	}
	list := make([]fs.DirEntry, 0, len(n.entries))
	for name, child := range n.entries {
		list = append(list, fs.FileInfoToDirEntry(child.info(name)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// SyncDir makes the directory's present entries durable.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(dir)
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return pathError("sync", dir, err)
	}
	for _, c := range n.changes {
		c.apply(n.durable)
	}
	n.done += len(n.changes)
	n.changes = nil
	return nil
}

// Chtimes sets the modification time; it is durable at once, since nothing relies on when.
func (m *Mem) Chtimes(name string, modTime time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err != nil {
		return pathError("chtimes", name, err)
	}
	n.modTime = modTime
	return nil
}

// Lock takes the lock of the file, creating it.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openLocked(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil && m.locks[n] != 0 {
		err = ErrLocked
	}
	if err != nil {
		return nil, pathError("lock", name, err)
	}
	m.locks[n] = lockedAlone
	return &memLock{fs: m, node: n}, nil
}

// lockedAlone is the count of a lock that cannot be shared.
const lockedAlone = -1

// LockShared implements SharedLocker.
func (m *Mem) LockShared(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openLocked(name, os.O_RDONLY, 0)
	if err == nil && m.locks[n] == lockedAlone {
		err = ErrLocked
	}
	if err != nil {
		return nil, pathError("lock", name, err)
	}
	m.locks[n]++
	return &memLock{fs: m, node: n}, nil
}

// memLock is a held lock.
type memLock struct {
	fs     *Mem
	node   *memNode
	closed bool
}

func (l *memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	switch {
	case l.closed:
	case l.fs.locks[l.node] > 1:
		l.fs.locks[l.node]--
	default:
		delete(l.fs.locks, l.node)
	}
	l.closed = true
	return nil
}

// Usage reports 1 TiB, less what the files hold.
func (m *Mem) Usage(path string) (total, usable uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(path); err != nil {
		return 0, 0, pathError("statfs", path, err)
	}
	return m.total, m.total - min(m.total, m.root.size()), nil
}

func (n *memNode) size() uint64 {
	sum := uint64(len(n.data))
	for _, child := range n.entries {
		sum += child.size()
	}
	return sum
}
