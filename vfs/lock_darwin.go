package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// inode identifies a file whatever path leads to it.
type inode struct{ dev, ino uint64 }

// held lists the files that this process has locked. It has to be state of the process, because the lock is: POSIX
// record locks do not exclude their own process, and closing any descriptor of the file drops them. So the table is
// asked before a file that might be locked is opened a second time (VFS-5).
var held = struct {
	sync.Mutex
	by map[inode]bool
}{by: map[inode]bool{}}

// posixLock is a held lock; closing its descriptor lets it go.
type posixLock struct {
	f   *os.File
	key inode
}

// Lock takes a POSIX record lock over the whole file, the kind that Java's FileChannel takes.
func (osFS) Lock(name string) (io.Closer, error) {
	return lockFile(name, os.O_RDWR|os.O_CREATE, unix.F_WRLCK)
}

// LockShared implements SharedLocker with a read lock of the same kind. Inside one process one holder is all there can be.
func (osFS) LockShared(name string) (io.Closer, error) {
	return lockFile(name, os.O_RDONLY, unix.F_RDLCK)
}

func lockFile(name string, flag int, kind int16) (io.Closer, error) {
	held.Lock()
	defer held.Unlock()
	if info, err := os.Stat(name); err == nil && held.by[inodeOf(info)] {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: fmt.Errorf("%w (this process)", ErrLocked)}
	}
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	whole := unix.Flock_t{Type: kind, Whence: io.SeekStart}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = ErrLocked
	}
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	key := inodeOf(info)
	held.by[key] = true
	return &posixLock{f: f, key: key}, nil
}

func (l *posixLock) Close() error {
	held.Lock()
	defer held.Unlock()
	delete(held.by, l.key)
	return l.f.Close()
}

func inodeOf(info fs.FileInfo) inode {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{dev: uint64(st.Dev), ino: st.Ino}
}
