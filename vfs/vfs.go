package vfs

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// FS is a file system as the engine uses it: every byte to or from disk passes here.
// Paths are absolute or relative to the process, in the host's syntax. Errors satisfy errors.Is with
// fs.ErrNotExist and fs.ErrExist where they mean that. All methods may be called concurrently.
type FS interface {
	// OpenFile opens name with os.O_* flags; perm applies to a file that is created.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// MkdirAll creates dir and its missing parents. It does not sync them: see SyncDir.
	MkdirAll(dir string, perm fs.FileMode) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// RemoveAll removes a directory tree; a missing one is no error.
	RemoveAll(name string) error
	// Rename moves a file or directory, replacing a target file atomically.
	Rename(from, to string) error
	// Stat describes a file or directory.
	Stat(name string) (fs.FileInfo, error)
	// ReadDir lists a directory in name order.
	ReadDir(dir string) ([]fs.DirEntry, error)
	// SyncDir makes creations, renames and removals inside dir durable.
	SyncDir(dir string) error
	// Chtimes sets a file's modification time (segment rewrites keep it).
	Chtimes(name string, modTime time.Time) error
	// Lock takes an exclusive whole-file lock on name, creating it, of the kind that excludes a running
	// Apache Kafka (POSIX record lock), without waiting. ErrLocked when somebody else holds it.
	// Closing the result releases the lock and leaves the file.
	Lock(name string) (io.Closer, error)
	// Usage returns the size of the file system that holds path and what is free to use, in bytes.
	Usage(path string) (total, usable uint64, err error)
}

// File is an open file. Reads and writes are positional, so that one descriptor serves any number of
// goroutines. A File is closed once, by its owner.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Name is the path that the file was opened with.
	Name() string
	// Size is the current length in bytes.
	Size() (int64, error)
	// Truncate cuts or extends (with zeros) the file to size bytes.
	Truncate(size int64) error
	// Sync makes content and length durable.
	Sync() error
}

// SharedLocker is implemented by file systems that can lock a file without writing to it.
type SharedLocker interface {
	// LockShared takes a shared lock on name, which must exist, of the kind that excludes and is excluded by Lock and a
	// running Apache Kafka: any number may hold it. ErrLocked when somebody holds it for himself alone.
	LockShared(name string) (io.Closer, error)
}

// Layered is implemented by files whose bytes lie in other files.
type Layered interface {
	// Part returns the file that holds the length bytes from off, and where in it; false when several do. It stays open
	// as long as the file that was asked.
	Part(off int64, length int) (part File, at int64, ok bool)
}

// ErrLocked is what Lock returns when the lock is held elsewhere.
var ErrLocked = errors.New("locked by another process")

// Region is a range of a file that can be sent to a client without passing through user space.
// The zero Region is empty. Whoever holds a Region calls Release exactly once; until then the file stays
// open and readable even if it is renamed or removed meanwhile.
type Region struct {
	File   File
	Offset int64
	Length int
	// release gives the file back; nil when nothing is held.
	release func()
}

// NewRegion returns a Region over length bytes of f from offset; release runs at Release and may be nil. Of a [Layered]
// file it refers to the file below, which the kernel may be able to send.
func NewRegion(f File, offset int64, length int, release func()) Region {
	if l, ok := f.(Layered); ok {
		if part, at, ok := l.Part(offset, length); ok {
			f, offset = part, at
		}
	}
	return Region{File: f, Offset: offset, Length: length, release: release}
}

// Release gives the file back to its owner. The Region must not be used afterwards.
func (r *Region) Release() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// ReadInto fills dst, which must be at least Length long, with the region's bytes.
func (r *Region) ReadInto(dst []byte) error {
	if r.Length == 0 {
		return nil
	}
	_, err := r.File.ReadAt(dst[:r.Length], r.Offset)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// OS is implemented by files that have a descriptor of the host, which sendfile needs. The descriptor is
// borrowed: valid until Close.
type OS interface {
	Fd() uintptr
}
