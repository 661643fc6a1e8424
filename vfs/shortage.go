package vfs

import (
	"errors"
	"io/fs"
	"syscall"
	"time"
)

// IsFull reports whether err says that the file system, or the quota on it, has no room.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || hostFull(err)
}

// IsExhausted reports whether err says that the process (EMFILE) or the host (ENFILE) has no descriptor left.
func IsExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || hostExhausted(err)
}

// IsShortage reports whether err says that something has run out, rather than that a disk is broken. Unless it comes
// from an fsync, nothing that was on disk before is in doubt, and the same call can succeed later.
func IsShortage(err error) bool { return IsFull(err) || IsExhausted(err) }

// patience bounds how long a call waits for a descriptor: pauses of 1, 2, 4 … ms as long as they are at most this.
const patience = 256 * time.Millisecond

// relieve runs f again while it is short of a descriptor, after idle files of the pool were closed or, when there is
// none to close, after a pause: requests in hand give back what they hold.
func (h *Handles) relieve(f func() error) error {
	for pause := time.Millisecond; ; {
		err := f()
		if !IsExhausted(err) || pause > patience {
			return err
		}
		before := h.OpenCount()
		h.evict(before / 2)
		if h.OpenCount() == before {
			time.Sleep(pause)
			pause *= 2
		}
	}
}

// patientFS gives back descriptors of a pool when a call of its own needs one.
type patientFS struct {
	FS
	h *Handles
}

// Patient returns the pool's file system for other uses, such as checkpoints and directories: where it is short of a
// descriptor, idle files of the pool are closed.
func (h *Handles) Patient() FS { return patientFS{h.fs, h} }

func (p patientFS) OpenFile(name string, flag int, perm fs.FileMode) (f File, err error) {
	err = p.h.relieve(func() error { f, err = p.FS.OpenFile(name, flag, perm); return err })
	return f, err
}

func (p patientFS) ReadDir(dir string) (list []fs.DirEntry, err error) {
	err = p.h.relieve(func() error { list, err = p.FS.ReadDir(dir); return err })
	return list, err
}

func (p patientFS) SyncDir(dir string) error {
	return p.h.relieve(func() error { return p.FS.SyncDir(dir) })
}

func (p patientFS) RemoveAll(name string) error {
	return p.h.relieve(func() error { return p.FS.RemoveAll(name) })
}
