package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/samsalog/samsa/vfs"
)

// Suffix is appended to the name of a file while its next content is being written.
const Suffix = ".tmp"

// maxFile bounds what is read into memory: a checkpoint of a million partitions has about 60 MB.
const maxFile = 1 << 28

// WriteAtomic replaces the file at path by data: a .tmp beside it is written, synced and renamed over it, then the
// directory is synced (CKP-1). A .tmp that is left of an earlier attempt is overwritten.
func WriteAtomic(fsys vfs.FS, path string, data []byte) error {
	tmp := path + Suffix
	if err := writeSynced(fsys, tmp, data); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// writeSynced writes data in place and syncs it.
func writeSynced(fsys vfs.FS, path string, data []byte) error {
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// readAll returns a file's content. A missing file is fs.ErrNotExist.
func readAll(fsys vfs.FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxFile {
		return nil, fmt.Errorf("%s: %w: %d bytes, at most %d are read", path, ErrFormat, size, maxFile)
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil // n < size when somebody cut the file meanwhile
}

// ErrFormat: the file is there and does not follow its format.
var ErrFormat = errors.New("malformed checkpoint")

// isMissing reports whether err means that there is no such file.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
