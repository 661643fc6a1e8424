package repair

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

func exists(fsys vfs.FS, path string) bool {
	_, err := fsys.Stat(path)
	return err == nil
}

// apply makes the change of a journal line, also if it was made already, or in part (REP-2).
func (j *journal) apply(o op) error {
	path, saved, staged := j.path(o.Path), j.own(o.Saved), j.own(o.Staged)
	switch o.Op {
	case "move":
		if exists(j.fs, path) {
			return j.rename(path, saved)
		}
		return nil
	case "replace":
		if !exists(j.fs, staged) {
			return nil
		}
		if o.Saved != "" && exists(j.fs, path) && !exists(j.fs, saved) {
			if err := j.rename(path, saved); err != nil {
				return err
			}
		}
		return j.rename(staged, path)
	case "cut":
		return j.with(path, func(f vfs.File) error { return errors.Join(f.Truncate(o.From), f.Sync()) }, o.ModTime)
	case "splice":
		if !exists(j.fs, staged) {
			return nil
		}
		return errors.Join(j.rename(staged, path), j.fs.Chtimes(path, time.Unix(0, o.ModTime)))
	case "patch":
		return j.with(path, func(f vfs.File) error { return writeSync(f, o.New, o.From) }, o.ModTime)
	case "rename":
		if exists(j.fs, path) && !exists(j.fs, j.path(o.To)) {
			return j.rename(path, j.path(o.To))
		}
	case "aside", "rmdir":
		return j.remove(path)
	}
	return nil
}

// revert takes the change of a journal line back, also if it was never made, or only in part, or taken back already.
func (j *journal) revert(o op) error {
	path, saved, staged := j.path(o.Path), j.own(o.Saved), j.own(o.Staged)
	switch o.Op {
	case "move":
		if exists(j.fs, saved) {
			return j.rename(saved, path)
		}
	case "replace":
		switch {
		case o.Saved == "": // there was no such file; after a power failure it may have both names
			return errors.Join(j.remove(path), j.remove(staged))
		case o.Saved != "" && exists(j.fs, saved):
			return errors.Join(j.rename(saved, path), j.remove(staged))
		}
		return j.remove(staged)
	case "cut":
		if !exists(j.fs, saved) {
			return nil
		}
		err := j.with(path, func(f vfs.File) error { return j.copyInto(f, o.From, saved, 0, o.Size-o.From) }, o.ModTime)
		if err != nil {
			return err
		}
		return j.remove(saved)
	case "splice":
		return j.unsplice(o)
	case "patch":
		return j.with(path, func(f vfs.File) error { return writeSync(f, o.Old, o.From) }, o.ModTime)
	case "rename":
		if to := j.path(o.To); exists(j.fs, to) && !exists(j.fs, path) {
			return j.rename(to, path)
		}
	case "rmdir":
		return errors.Join(j.fs.MkdirAll(path, 0o755), j.fs.SyncDir(filepath.Dir(path)))
	case "aside":
		return j.bringBack(o)
	}
	return nil
}

// bringBack copies a file back that was taken to another file system.
func (j *journal) bringBack(o op) error {
	path, saved := j.path(o.Path), j.own(o.Saved)
	if !exists(j.fs, saved) {
		return nil
	}
	if !exists(j.fs, path) {
		part := path + segment.TmpSuffix
		f, err := j.fs.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		err = j.copyInto(f, 0, saved, 0, o.Size)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		if err := errors.Join(j.fs.Chtimes(part, time.Unix(0, o.ModTime)), j.rename(part, path)); err != nil {
			return err
		}
	}
	return j.remove(saved)
}

// unsplice puts the ranges that were taken out of a file back in.
func (j *journal) unsplice(o op) error {
	path, saved, staged := j.path(o.Path), j.own(o.Saved), j.own(o.Staged)
	if !exists(j.fs, saved) {
		return nil
	}
	info, err := j.fs.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() != o.Size { // it is the short one
		// After a power failure in the middle of the renaming the short one may have both names: the staged one is not to be written over.
		if err := j.remove(staged); err != nil {
			return err
		}
		out, err := j.fs.OpenFile(staged, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		err = j.weave(out, o, path, saved)
		if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
			return err
		}
		if err := errors.Join(j.rename(staged, path), j.fs.Chtimes(path, time.Unix(0, o.ModTime))); err != nil {
			return err
		}
	}
	return errors.Join(j.remove(staged), j.remove(saved))
}

// weave writes the old file: what is left of it, and the ranges that were taken out.
func (j *journal) weave(out vfs.File, o op, short, taken string) error {
	at, fromShort, fromTaken := int64(0), int64(0), int64(0)
	for _, r := range append(o.Ranges, span{Position: o.Size}) {
		n := r.Position - at
		if err := j.copyInto(out, at, short, fromShort, n); err != nil {
			return err
		}
		if err := j.copyInto(out, r.Position, taken, fromTaken, r.Length); err != nil {
			return err
		}
		fromShort, fromTaken, at = fromShort+n, fromTaken+r.Length, r.Position+r.Length
	}
	return nil
}

// with opens a file for writing, and gives it its old time again.
func (j *journal) with(path string, do func(vfs.File) error, modTime int64) error {
	f, err := j.fs.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(do(f), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return j.fs.Chtimes(path, time.Unix(0, modTime))
}

func writeSync(f vfs.File, b []byte, at int64) error {
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Sync()
}

// copyInto copies n bytes of a file, from byte from on, into f at byte at, durably.
func (j *journal) copyInto(f vfs.File, at int64, path string, from, n int64) error {
	if n == 0 {
		return nil
	}
	in, err := j.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	buf := make([]byte, min(n, copyStep))
	for done := int64(0); done < n; {
		b := buf[:min(int64(len(buf)), n-done)]
		if got, err := in.ReadAt(b, from+done); got < len(b) {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		// Behind the end of the file zeros are left to the file system: preallocated indexes stay holes.
		if at+done < size || !zeros(b) {
			if _, err := f.WriteAt(b, at+done); err != nil {
				return err
			}
		}
		done += int64(len(b))
	}
	if size < at+n {
		if err := f.Truncate(at + n); err != nil {
			return err
		}
	}
	return f.Sync()
}

// copyStep is how much is copied at a time, and the smallest hole that is kept.
const copyStep = 128 << 10

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// rename moves a file durably.
func (j *journal) rename(from, to string) error {
	if err := j.fs.Rename(from, to); err != nil {
		return err
	}
	err := j.fs.SyncDir(filepath.Dir(to))
	if filepath.Dir(from) != filepath.Dir(to) {
		err = errors.Join(err, j.fs.SyncDir(filepath.Dir(from)))
	}
	return err
}

func (j *journal) remove(path string) error {
	if path == "" { // no such file in this line
		return nil
	}
	if err := j.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return j.fs.SyncDir(filepath.Dir(path))
}
