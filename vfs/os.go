package vfs

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// osFS is the file system of the host.
type osFS struct{}

// NewOS returns the file system of the host.
func NewOS() FS { return osFS{} }

// osFile adds what the engine asks of a file to *os.File, which brings Fd along for sendfile.
type osFile struct{ *os.File }

var _ OS = osFile{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Size asks the descriptor, so it is right for a file that was renamed or unlinked.
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }
func (osFS) Remove(name string) error                    { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                 { return os.RemoveAll(name) }
func (osFS) Rename(from, to string) error                { return os.Rename(from, to) }
func (osFS) Stat(name string) (fs.FileInfo, error)       { return os.Stat(name) }
func (osFS) ReadDir(dir string) ([]fs.DirEntry, error)   { return os.ReadDir(dir) }

func (osFS) Chtimes(name string, modTime time.Time) error {
	return os.Chtimes(name, time.Time{}, modTime)
}

func (osFS) Usage(path string) (total, usable uint64, err error) {
	total, usable, err = diskUsage(path)
	if err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return total, usable, nil
}

// SyncDir fsyncs the directory itself. Windows has no such call: NTFS journals its directories.
func (osFS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		_, err := os.Stat(dir)
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
