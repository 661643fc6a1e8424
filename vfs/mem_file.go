package vfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
	"time"
)

// memFile is an open file of Mem. It stays usable when the file is renamed or removed.
type memFile struct {
	fs       *Mem
	node     *memNode
	name     string
	writable bool
	closed   bool // guarded by fs.mu
}

func (f *memFile) Name() string { return f.name }

// begin locks the file system and checks that the file may be used; a nil error means locked.
func (f *memFile) begin(op string, write bool) error {
	f.fs.mu.Lock()
	var err error
	switch {
	case f.closed:
		err = fs.ErrClosed
	case write && !f.writable:
		err = syscall.EBADF
	}
	if err != nil {
		f.fs.mu.Unlock()
	}
	return pathError(op, f.name, err)
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.begin("read", false); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	if off >= int64(len(f.node.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.begin("write", true); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	if off < 0 {
		return 0, pathError("write", f.name, fs.ErrInvalid)
	}
	if len(p) > 0 {
		f.node.write(memWrite{off: off, data: slices.Clone(p)})
	}
	return len(p), nil
}

func (f *memFile) Size() (int64, error) {
	if err := f.begin("stat", false); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	return int64(len(f.node.data)), nil
}

func (f *memFile) Truncate(size int64) error {
	if err := f.begin("truncate", true); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	if size < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	if size != int64(len(f.node.data)) {
		f.node.write(memWrite{off: size})
	}
	return nil
}

func (f *memFile) Sync() error {
	if err := f.begin("sync", false); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	for _, w := range f.node.pending {
		f.node.synced = w.apply(f.node.synced)
	}
	f.node.pending = nil
	return nil
}

func (f *memFile) Close() error {
	if err := f.begin("close", false); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	f.closed = true
	return nil
}

// memInfo describes a node under one of its names at one moment.
type memInfo struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
	node    *memNode
}

func (n *memNode) info(name string) memInfo {
	return memInfo{name: name, size: int64(len(n.data)), mode: n.mode, modTime: n.modTime, node: n}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.modTime }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
