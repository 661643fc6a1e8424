package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Linker is implemented by file systems in which a file can have several names.
type Linker interface {
	// Link gives the file at from a second name. Both must be in one file system; to must not exist.
	Link(from, to string) error
}

// ErrNoLink: the file cannot have a second name there: another file system, or one that knows no hard links.
var ErrNoLink = errors.New("no hard link is possible")

// Link gives the file at from the second name to. It is ErrNoLink where that is not possible.
func Link(fsys FS, from, to string) error {
	l, ok := fsys.(Linker)
	if !ok {
		return fmt.Errorf("%w: %s", ErrNoLink, to)
	}
	err := l.Link(from, to)
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK) || errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w: %w", ErrNoLink, err)
	}
	return err
}

// SameFile reports whether two infos of one file system are about the same file, be it under two names.
func SameFile(a, b fs.FileInfo) bool {
	x, ok1 := a.(memInfo)
	y, ok2 := b.(memInfo)
	if ok1 && ok2 {
		return x.node == y.node
	}
	return os.SameFile(a, b)
}

// Link implements Linker.
func (osFS) Link(from, to string) error { return os.Link(from, to) }

// Link implements Linker.
func (m *Mem) Link(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return pathError("link", from, m.linkLocked(from, to))
}

func (m *Mem) linkLocked(from, to string) error {
	n, err := m.find(from)
	if err != nil {
		return err
	}
	dir, base, err := m.parent(to)
	switch {
	case err != nil:
		return err
	case n.isDir():
		return syscall.EPERM
	case dir.entries[base] != nil:
		return fs.ErrExist
	}
	dir.set(memChange{names: map[string]*memNode{base: n}})
	return nil
}

// Link implements Linker.
func (f *Fault) Link(from, to string) error {
	if err := f.ask(Op{Kind: OpLink, Path: from, To: to}); err != nil {
		return err
	}
	return Link(f.inner, from, to)
}
