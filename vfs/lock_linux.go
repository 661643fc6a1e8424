package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes a record lock over the whole file. It is an open-file-description lock: in the kernel it conflicts with
// the plain POSIX record lock that Java's FileChannel takes, so a running Apache Kafka is excluded and excludes us, but
// it belongs to the descriptor instead of the process. So a second Lock in this process is refused too, and closing
// some other descriptor of the file does not drop it, as POSIX would have it (VFS-5).
func (osFS) Lock(name string) (io.Closer, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)
		if err == nil && isAt(f, name) {
			return f, nil
		}
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			err = lockHolder(f)
		}
		_ = f.Close()
		if err != nil {
			return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
		}
	}
}

// LockShared implements SharedLocker with a read lock of the same kind.
func (osFS) LockShared(name string) (io.Closer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	whole := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = lockHolder(f)
	}
	if err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}

// isAt reports whether name still is the file f. Whoever held the lock removes the file as it stops: a lock on the
// removed one excludes nobody.
func isAt(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(name)
	return err == nil && os.SameFile(mine, now)
}

// lockHolder names the process that holds a POSIX lock; the holder of a descriptor lock (-1) is not known.
func lockHolder(f *os.File) error {
	who := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &who); err == nil && who.Type != unix.F_UNLCK && who.Pid > 0 {
		return fmt.Errorf("%w (process %d)", ErrLocked, who.Pid)
	}
	return ErrLocked
}
