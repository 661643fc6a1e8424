package savepoint

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/samsalog/samsa/vfs"
)

// locks are the held locks of all directories.
type locks struct {
	fs   vfs.FS
	dirs []string
	held []io.Closer
	// had tells of each directory whether its lock file was there before.
	had []bool
}

// lockAll takes the lock of every directory, or none (SAV-1).
func lockAll(fsys vfs.FS, dirs []string) (*locks, error) {
	l := &locks{fs: fsys, dirs: dirs}
	for _, dir := range dirs {
		path := filepath.Join(dir, lockFile)
		_, err := fsys.Stat(path)
		l.had = append(l.had, err == nil)
		held, err := fsys.Lock(path)
		if errors.Is(err, vfs.ErrLocked) {
			err = fmt.Errorf("%w: %w", ErrInUse, err)
		}
		if err != nil {
			return nil, errors.Join(err, l.release(nil))
		}
		l.held = append(l.held, held)
	}
	return l, nil
}

// release gives the locks back. A lock file stays where keep says so; without keep, where it was there before.
func (l *locks) release(keep []bool) (err error) {
	if keep == nil {
		keep = l.had
	}
	for i, held := range l.held {
		if !keep[i] {
			err = errors.Join(err, l.fs.Remove(filepath.Join(l.dirs[i], lockFile)))
		}
		err = errors.Join(err, held.Close())
	}
	return err
}
