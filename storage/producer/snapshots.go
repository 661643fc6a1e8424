package producer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// Suffix ends the name of every snapshot file.
const Suffix = ".snapshot"

// SnapshotName is the name of the snapshot of the state before offset o.
func SnapshotName(o record.Offset) string { return fmt.Sprintf("%020d%s", o, Suffix) }

// parseSnapshotName is lenient about padding, as Kafka is.
func parseSnapshotName(name string) (record.Offset, bool) {
	digits, ok := strings.CutSuffix(name, Suffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return record.Offset(n), err == nil && n >= 0
}

// Snapshots are the snapshot files of one partition directory.
type Snapshots struct {
	fs vfs.FS

	mu struct {
		sync.Mutex
		dir string
		// names maps the offset of each file that is there to its name.
		names map[record.Offset]string
	}
}

// OpenSnapshots takes over the snapshot files among entries, the listing of dir.
func OpenSnapshots(fsys vfs.FS, dir string, entries []fs.DirEntry) *Snapshots {
	s := &Snapshots{fs: fsys}
	s.mu.dir = dir
	s.mu.names = map[record.Offset]string{}
	for _, e := range entries {
		if o, ok := parseSnapshotName(e.Name()); ok {
			s.mu.names[o] = e.Name()
		}
	}
	return s
}

// Offsets lists the snapshots that are there, rising.
func (s *Snapshots) Offsets() []record.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offsetsLocked()
}

func (s *Snapshots) offsetsLocked() []record.Offset {
	out := make([]record.Offset, 0, len(s.mu.names))
	for o := range s.mu.names {
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

// Has reports whether there is a snapshot at o.
func (s *Snapshots) Has(o record.Offset) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.mu.names[o]
	return ok
}

// Renamed tells that the directory is now called dir.
func (s *Snapshots) Renamed(dir string) {
	s.mu.Lock()
	s.mu.dir = dir
	s.mu.Unlock()
}

// Write stores data as the snapshot at o and fsyncs it; the directory is not synced. The lock is not held meanwhile, so
// that nobody who only asks for a snapshot waits for the disk.
func (s *Snapshots) Write(o record.Offset, data []byte) error {
	s.mu.Lock()
	dir := s.mu.dir
	s.mu.Unlock()
	name := SnapshotName(o)
	f, err := s.fs.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.mu.Lock()
	s.mu.names[o] = name
	s.mu.Unlock()
	return nil
}

// LoadNewest returns the newest believable snapshot at or below upTo. Unbelievable ones are removed and reported to
// bad (PROD-4). Without any, ok is false.
func (s *Snapshots) LoadNewest(upTo record.Offset, bad func(path string, err error)) (entries []Entry, at record.Offset, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offsets := s.offsetsLocked()
	for i := len(offsets) - 1; i >= 0; i-- {
		if offsets[i] > upTo {
			continue
		}
		path := filepath.Join(s.mu.dir, s.mu.names[offsets[i]])
		entries, err := ReadSnapshot(s.fs, path)
		if err == nil {
			return entries, offsets[i], true, nil
		}
		if !errors.Is(err, record.ErrCorruptBatch) && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, false, err
		}
		bad(path, err)
		if err := s.removeLocked(offsets[i]); err != nil {
			return nil, 0, false, err
		}
	}
	return nil, 0, false, nil
}

// ReadSnapshot reads one file; an error that matches record.ErrCorruptBatch tells that it is damaged.
func ReadSnapshot(fsys vfs.FS, path string) ([]Entry, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	if err != nil {
		return nil, err
	}
	entries, err := DecodeSnapshot(b)
	var c *record.CorruptError
	if errors.As(err, &c) {
		c.File = path
	}
	return entries, err
}

// RemoveIf removes the snapshots for whose offset it says so. A file that is gone already is no error.
func (s *Snapshots) RemoveIf(drop func(record.Offset) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.offsetsLocked() {
		if !drop(o) {
			continue
		}
		if err := s.removeLocked(o); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshots) removeLocked(o record.Offset) error {
	err := s.fs.Remove(filepath.Join(s.mu.dir, s.mu.names[o]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(s.mu.names, o)
	return nil
}

// RemoveStray removes the snapshots that belong to no segment, as after a crash between taking one and rolling: of
// those whose offset is no base only the largest stays, if it is not below the last base (it is then the state at the
// end of the log).
func (s *Snapshots) RemoveStray(bases []record.Offset) error {
	last := record.NoOffset
	if len(bases) > 0 {
		last = bases[len(bases)-1]
	}
	isBase := func(o record.Offset) bool { _, ok := slices.BinarySearch(bases, o); return ok }
	keep := record.NoOffset
	for _, o := range s.Offsets() {
		if !isBase(o) && o >= last {
			keep = o
		}
	}
	return s.RemoveIf(func(o record.Offset) bool { return !isBase(o) && o != keep })
}

// MarkDeleted renames the snapshot at o to `.deleted` and returns the new path; "" if there is none.
func (s *Snapshots) MarkDeleted(o record.Offset) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.mu.names[o]
	if !ok {
		return "", nil
	}
	path := filepath.Join(s.mu.dir, name)
	delete(s.mu.names, o)
	if err := s.fs.Rename(path, path+".deleted"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return "", err
	}
	return path + ".deleted", nil
}
