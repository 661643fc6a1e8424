package testdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/samsalog/samsa/vfs"
)

// Disk is a file system with a second, smaller disk in a directory: once the files in Dir fill Capacity bytes, nothing can be
// written or created there.
type Disk struct {
	vfs.FS
	// Dir is where the small disk is mounted.
	Dir string
	// Capacity is its size in bytes.
	Capacity uint64
	whole    vfs.FS
}

// NewDisk mounts a small disk in a directory of a file system.
func NewDisk(whole vfs.FS, dir string, capacity uint64) *Disk {
	d := &Disk{Dir: dir, Capacity: capacity, whole: whole}
	d.FS = vfs.NewFault(whole, func(op vfs.Op) error {
		if !d.on(op.Path) || d.Used() < d.Capacity {
			return nil
		}
		switch op.Kind {
		case vfs.OpWrite, vfs.OpMkdir:
			return syscall.ENOSPC
		case vfs.OpOpen:
			if _, err := whole.Stat(op.Path); errors.Is(err, fs.ErrNotExist) && op.Flag&os.O_CREATE != 0 {
				return syscall.ENOSPC
			}
		}
		return nil
	})
	return d
}

func (d *Disk) on(path string) bool { return path == d.Dir || strings.HasPrefix(path, d.Dir+"/") }

// Used is what the files in Dir hold.
func (d *Disk) Used() uint64 { return used(d.whole, d.Dir) }

func used(fsys vfs.FS, dir string) (sum uint64) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if e.IsDir() {
			sum += used(fsys, filepath.Join(dir, e.Name()))
		} else if info, err := e.Info(); err == nil {
			sum += uint64(info.Size())
		}
	}
	return sum
}

// Usage implements vfs.FS.
func (d *Disk) Usage(path string) (total, usable uint64, err error) {
	if !d.on(path) {
		return d.whole.Usage(path)
	}
	return d.Capacity, d.Capacity - min(d.Capacity, d.Used()), nil
}

// Rename refuses to move files between the disks.
func (d *Disk) Rename(from, to string) error {
	if d.on(from) != d.on(to) {
		return syscall.EXDEV
	}
	return d.FS.Rename(from, to)
}
