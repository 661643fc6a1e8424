package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes an exclusive lock over the whole possible range of the file, as Java's FileChannel does. Windows keeps
// such locks per handle, so a second Lock in this process is refused as well (VFS-5).
func (osFS) Lock(name string) (io.Closer, error) {
	return lockFile(name, os.O_RDWR|os.O_CREATE, windows.LOCKFILE_EXCLUSIVE_LOCK)
}

// LockShared implements SharedLocker with a shared lock of the same kind.
func (osFS) LockShared(name string) (io.Closer, error) { return lockFile(name, os.O_RDONLY, 0) }

func lockFile(name string, flag int, kind uint32) (io.Closer, error) {
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	const all = ^uint32(0)
	err = windows.LockFileEx(windows.Handle(f.Fd()), kind|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, all, all>>1, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		err = ErrLocked
	}
	return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
}
