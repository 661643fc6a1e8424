package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/samsalog/samsa/vfs"
)

// Changes that the journal knows.
const (
	opFile = "file" // a file is made, or has other layers now
	opDir  = "dir"  // a directory is made
	opGone = "gone" // a file, or a directory with all that is in it, is removed
	opMove = "move" // a file or directory is renamed, replacing what is there
	opTime = "time" // a file that is as in the base has another modification time
)

// record is one change.
type record struct {
	Op   string `json:"op"`
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
	// Base is where the first Limit bytes of a file are, or the entries of a directory.
	Base  string `json:"base,omitempty"`
	Limit int64  `json:"limit,omitempty"`
	Blob  uint64 `json:"blob,omitempty"`
	Mode  uint32 `json:"mode,omitempty"`
	Time  int64  `json:"time,omitempty"` // ns since the epoch
}

// line encodes a record for the journal.
func (r record) line() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

// parseLine is the reverse; false: it is not whole.
func parseLine(line []byte) (r record, ok bool) {
	sum, text, found := bytes.Cut(line, []byte(" "))
	if !found {
		return r, false
	}
	n, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint32(n) != crc32.ChecksumIEEE(text) {
		return r, false
	}
	return r, json.Unmarshal(text, &r) == nil
}

// journal is the file of changes.
type journal struct {
	file vfs.File

	mu   sync.Mutex
	size int64 // bytes of whole records

	syncing sync.Mutex
	synced  int64 // bytes that are durable
}

// append adds a record; a failed one leaves nothing behind that counts.
func (j *journal) append(r record) error {
	line, err := r.line()
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return err
	}
	j.size += int64(len(line))
	return nil
}

// sync makes what was appended before durable.
func (j *journal) sync() error {
	j.mu.Lock()
	size := j.size
	j.mu.Unlock()
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= size {
		return nil
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.synced = size
	return nil
}

func (f *FS) journalPath() string { return filepath.Join(f.o.Dir, "journal") }

// maxJournal bounds what is read of a journal: ten million changes.
const maxJournal = 1 << 30

// recover reads the journal, writes it anew without what is past, and removes blobs that it does not name.
func (f *FS) recover() error {
	text, err := readFile(f.o.Scratch, f.journalPath(), maxJournal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		r, ok := parseLine(line)
		if !whole || !ok {
			break
		}
		if err := f.apply(r); err != nil {
			return fmt.Errorf("the journal does not fit the directory: %s: %w", r.Path, err)
		}
		text = rest
	}
	f.dropped = nil
	if err := f.rewrite(); err != nil {
		return err
	}
	return f.removeOrphans()
}

// rewrite replaces the journal by the changes that lead from the base to the present names.
func (f *FS) rewrite() error {
	var text []byte
	var failed error
	f.walk(f.root, func(r record) {
		line, err := r.line()
		failed = errors.Join(failed, err)
		text = append(text, line...)
	})
	if failed != nil {
		return failed
	}
	tmp := f.journalPath() + ".tmp"
	file, err := f.o.Scratch.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(text, 0); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := f.o.Scratch.Rename(tmp, f.journalPath()); err != nil {
		return err
	}
	if err := f.o.Scratch.SyncDir(f.o.Dir); err != nil {
		return err
	}
	if file, err = f.o.Scratch.OpenFile(f.journalPath(), os.O_RDWR, 0); err != nil {
		return err
	}
	f.journal = &journal{file: file, size: int64(len(text)), synced: int64(len(text))}
	return nil
}

// walk tells how a directory differs from the base.
func (f *FS) walk(dir *node, tell func(record)) {
	for name := range dir.gone {
		if dir.children[name] == nil {
			tell(record{Op: opGone, Path: filepath.Join(dir.path(), name)})
		}
	}
	for name, n := range dir.children {
		r := record{Op: opFile, Path: n.path(), Base: n.base, Limit: n.limit, Blob: n.blob, Mode: uint32(n.mode.Perm())}
		if dir.gone[name] {
			tell(record{Op: opGone, Path: n.path()})
		}
		inPlace := !dir.gone[name] && n.base != "" && n.base == filepath.Join(dir.base, name)
		switch {
		case n.dir:
			if !inPlace && filepath.VolumeName(name) == "" {
				r.Op = opDir
				tell(r)
			}
			f.walk(n, tell)
			continue
		case n.blob != 0 || !inPlace:
			tell(r)
		}
		if !n.modTime.IsZero() {
			tell(record{Op: opTime, Path: n.path(), Time: n.modTime.UnixNano()})
		}
	}
}

func (f *FS) removeOrphans() error {
	named := map[string]bool{}
	f.walk(f.root, func(r record) {
		if r.Blob != 0 {
			named[filepath.Base(f.blobPath(r.Blob))] = true
		}
	})
	entries, err := f.o.Scratch.ReadDir(f.blobDir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if named[e.Name()] {
			continue
		}
		if err := f.o.Scratch.Remove(filepath.Join(f.blobDir(), e.Name())); err != nil {
			return err
		}
	}
	// Their numbers are given out again: an old blob must not come back under a new one's name.
	return f.o.Scratch.SyncDir(f.blobDir())
}

// readFile returns a file's content, of which there may be limit bytes.
func readFile(fsys vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read", path, size, limit)
	}
	text := make([]byte, size)
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text[:n], nil
}
