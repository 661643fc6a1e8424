package overlay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/vfs"
)

// lockFile is what a broker locks in each of its directories.
const lockFile = ".lock"

// guard watches one root.
type guard struct {
	root string
	// shared is a lock that keeps a broker from starting; nil where the base has no lock file, which cannot be made.
	shared io.Closer
}

func (g guard) close() {
	if g.shared != nil {
		_ = g.shared.Close() // nothing was written
	}
}

// guard makes sure that no broker works on the roots, and where their lock files are there that none can start.
func (f *FS) guard() error {
	for _, root := range f.o.Roots {
		g := guard{root: root}
		locker, ok := f.o.Base.(vfs.SharedLocker)
		if ok {
			var err error
			g.shared, err = locker.LockShared(filepath.Join(root, lockFile))
			switch {
			case errors.Is(err, vfs.ErrLocked):
				return fmt.Errorf("%w: %s: %w; what it changes meanwhile would be read half old, half new: stop it first, or copy the directory", ErrInUse, root, err)
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
		f.guards = append(f.guards, g)
	}
	return nil
}

// Disturbed looks whether somebody has begun to work on a root in spite of it: where there was no lock file, one is now.
func (f *FS) Disturbed() error {
	for _, g := range f.guards {
		if g.shared != nil {
			continue
		}
		if _, err := f.o.Base.Stat(filepath.Join(g.root, lockFile)); err == nil {
			return fmt.Errorf("%w: %s has got a %s", ErrInUse, g.root, lockFile)
		}
	}
	return nil
}

// stamp is the file "base": which state of the roots the scratch was made over.
type stamp struct {
	Roots []string `json:"roots"`
	// Sum is a SHA-256 over names, sizes and modification times.
	Sum string `json:"sum"`
}

// checkBase compares the roots with what they were when the scratch was made (OVL-3).
func (f *FS) checkBase() error {
	now := stamp{Roots: f.o.Roots}
	if now.Roots == nil {
		now.Roots = []string{}
	}
	hash := sha256.New()
	for _, root := range f.o.Roots {
		if err := f.sum(hash, root); err != nil {
			return err
		}
	}
	now.Sum = hex.EncodeToString(hash.Sum(nil))
	path := filepath.Join(f.o.Dir, "base")
	text, err := readFile(f.o.Scratch, path, maxStamp)
	if errors.Is(err, fs.ErrNotExist) {
		return f.writeStamp(path, now)
	}
	if err != nil {
		return err
	}
	var before stamp
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !slices.Equal(before.Roots, now.Roots) {
		return fmt.Errorf("%w: it was made over %q", ErrChanged, before.Roots)
	}
	if before.Sum != now.Sum {
		return ErrChanged
	}
	return nil
}

// maxStamp bounds the file: it holds a few paths.
const maxStamp = 1 << 20

// writeStamp is called before anything else is kept, so that a torn one means that nothing was.
func (f *FS) writeStamp(path string, s stamp) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	file, err := f.o.Scratch.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(text, 0); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := f.o.Scratch.Rename(tmp, path); err != nil {
		return err
	}
	return f.o.Scratch.SyncDir(f.o.Dir)
}

// sum adds a directory to a hash. The lock file is left out: it says nothing of the data.
func (f *FS) sum(hash io.Writer, dir string) error {
	entries, err := f.o.Base.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			fmt.Fprintf(hash, "%q\n", path)
			if err := f.sum(hash, path); err != nil {
				return err
			}
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.Name() != lockFile {
			fmt.Fprintf(hash, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return nil
}
