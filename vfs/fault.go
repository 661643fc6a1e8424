package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"
)

// OpKind names an operation of [FS] or [File].
type OpKind string

// The operations that a [Fault] can make fail.
const (
	OpOpen     OpKind = "open"
	OpMkdir    OpKind = "mkdir"
	OpRemove   OpKind = "remove"
	OpRename   OpKind = "rename"
	OpLink     OpKind = "link"
	OpStat     OpKind = "stat"
	OpReadDir  OpKind = "readdir"
	OpSyncDir  OpKind = "syncdir"
	OpChtimes  OpKind = "chtimes"
	OpLock     OpKind = "lock"
	OpUsage    OpKind = "usage"
	OpRead     OpKind = "read"
	OpWrite    OpKind = "write"
	OpSize     OpKind = "size"
	OpTruncate OpKind = "truncate"
	OpSync     OpKind = "sync"
	OpClose    OpKind = "close"
)

// Changes reports whether the operation can change what is on disk or what is durable.
func (k OpKind) Changes() bool {
	switch k {
	case OpMkdir, OpRemove, OpRename, OpLink, OpSyncDir, OpChtimes, OpWrite, OpTruncate, OpSync:
		return true
	}
	return false
}

// Op is one operation about to happen.
type Op struct {
	Kind OpKind
	Path string // of a rename or link: the old name
	To   string // of a rename or link: the new name
	Flag int    // of an open
	N    int64  // 1 for the first operation of this Fault, and so on
}

// String describes the operation for test output.
func (o Op) String() string {
	if o.To != "" {
		return fmt.Sprintf("#%d %s %s -> %s", o.N, o.Kind, o.Path, o.To)
	}
	return fmt.Sprintf("#%d %s %s", o.N, o.Kind, o.Path)
}

// Partial is an error that lets the first Keep bytes of a write happen, as a full disk does. It unwraps to Err.
type Partial struct {
	Keep int
	Err  error
}

func (p *Partial) Error() string { return fmt.Sprintf("after %d bytes: %v", p.Keep, p.Err) }
func (p *Partial) Unwrap() error { return p.Err }

// Fault is a file system that asks before each operation whether it shall fail.
type Fault struct {
	inner  FS
	inject func(Op) error
	count  atomic.Int64
}

// NewFault wraps fs. inject runs before every operation, from any goroutine, also at the same time; an error from it
// is returned (with the path) in place of the operation. It may also use the moment to look at or to cut the file
// system below.
func NewFault(inner FS, inject func(Op) error) *Fault {
	return &Fault{inner: inner, inject: inject}
}

// FailNth returns an inject function that fails the n-th operation (from 1) for which match holds, once.
func FailNth(n int64, match func(Op) bool, err error) func(Op) error {
	var seen atomic.Int64
	return func(op Op) error {
		if match(op) && seen.Add(1) == n {
			return err
		}
		return nil
	}
}

// Count returns how many operations were asked for.
func (f *Fault) Count() int64 { return f.count.Load() }

// ask numbers the operation and puts it to inject.
func (f *Fault) ask(op Op) error {
	op.N = f.count.Add(1)
	if err := f.inject(op); err != nil {
		return &fs.PathError{Op: string(op.Kind), Path: op.Path, Err: err}
	}
	return nil
}

// OpenFile implements FS.
func (f *Fault) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if err := f.ask(Op{Kind: OpOpen, Path: name, Flag: flag}); err != nil {
		return nil, err
	}
	file, err := f.inner.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultFile{File: file, fs: f}, nil
}

// MkdirAll implements FS.
func (f *Fault) MkdirAll(dir string, perm fs.FileMode) error {
	if err := f.ask(Op{Kind: OpMkdir, Path: dir}); err != nil {
		return err
	}
	return f.inner.MkdirAll(dir, perm)
}

// Remove implements FS.
func (f *Fault) Remove(name string) error {
	if err := f.ask(Op{Kind: OpRemove, Path: name}); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// RemoveAll implements FS.
func (f *Fault) RemoveAll(name string) error {
	if err := f.ask(Op{Kind: OpRemove, Path: name}); err != nil {
		return err
	}
	return f.inner.RemoveAll(name)
}

// Rename implements FS.
func (f *Fault) Rename(from, to string) error {
	if err := f.ask(Op{Kind: OpRename, Path: from, To: to}); err != nil {
		return err
	}
	return f.inner.Rename(from, to)
}

// Stat implements FS.
func (f *Fault) Stat(name string) (fs.FileInfo, error) {
	if err := f.ask(Op{Kind: OpStat, Path: name}); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// ReadDir implements FS.
func (f *Fault) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := f.ask(Op{Kind: OpReadDir, Path: dir}); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(dir)
}

// SyncDir implements FS.
func (f *Fault) SyncDir(dir string) error {
	if err := f.ask(Op{Kind: OpSyncDir, Path: dir}); err != nil {
		return err
	}
	return f.inner.SyncDir(dir)
}

// Chtimes implements FS.
func (f *Fault) Chtimes(name string, modTime time.Time) error {
	if err := f.ask(Op{Kind: OpChtimes, Path: name}); err != nil {
		return err
	}
	return f.inner.Chtimes(name, modTime)
}

// Lock implements FS.
func (f *Fault) Lock(name string) (io.Closer, error) {
	if err := f.ask(Op{Kind: OpLock, Path: name}); err != nil {
		return nil, err
	}
	return f.inner.Lock(name)
}

// Usage implements FS.
func (f *Fault) Usage(path string) (total, usable uint64, err error) {
	if err := f.ask(Op{Kind: OpUsage, Path: path}); err != nil {
		return 0, 0, err
	}
	return f.inner.Usage(path)
}

// LockShared implements SharedLocker where the file system below does.
func (f *Fault) LockShared(name string) (io.Closer, error) {
	if err := f.ask(Op{Kind: OpLock, Path: name}); err != nil {
		return nil, err
	}
	if inner, ok := f.inner.(SharedLocker); ok {
		return inner.LockShared(name)
	}
	return nil, &fs.PathError{Op: string(OpLock), Path: name, Err: errors.ErrUnsupported}
}
