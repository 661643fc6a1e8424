package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/vfs"
)

// op is one line of the journal: a change that is about to be made. Path and To are relative to
// the directory that is repaired, Saved and Staged to the journal's.
type op struct {
	// Op is replace, move, cut, splice, patch, rename, aside or rmdir; begin and end enclose them, undo says that undoing has
	// begun.
	Op string `json:"op"`
	// Root is the directory that was repaired, if it is not the journal's own; begin tells it.
	Root string `json:"root,omitempty"`
	Path string `json:"path,omitempty"`
	// To is the new name of what rename renames.
	To string `json:"to,omitempty"`
	// Saved is where what was there is kept, Staged where what comes is ready.
	Saved  string `json:"saved,omitempty"`
	Staged string `json:"staged,omitempty"`
	// From and Size: cut takes the bytes From … Size-1; splice makes a file of Size bytes shorter; aside takes one away.
	From int64 `json:"from,omitempty"`
	Size int64 `json:"size,omitempty"`
	// Ranges are what splice takes out, in the old file.
	Ranges []span `json:"ranges,omitempty"`
	// Old and New are the bytes that patch changes at From.
	Old []byte `json:"old,omitempty"`
	New []byte `json:"new,omitempty"`
	// ModTime is that of the file before, in ns since the epoch.
	ModTime int64 `json:"modTime,omitempty"`
	// Why is for people.
	Why string `json:"why,omitempty"`
}

type span struct {
	Position int64 `json:"position"`
	Length   int64 `json:"length"`
}

// Names of journals and of the files that belong to them. Brokers pass over such files.
const (
	prefix        = ".samsa-repair-"
	journalSuffix = ".journal"
)

// journal is an open journal.
type journal struct {
	fs vfs.FS
	// dir is the directory that is repaired, home where the journal and its files lie: the same, but where room is made.
	dir, home string
	name      string
	f         vfs.File
	size      int64
	n         int
}

// Journals lists the journals in a directory, oldest first.
func Journals(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), journalSuffix) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all, nil
}

// journalsOf lists the journals in home that are about dir.
func journalsOf(fsys vfs.FS, dir, home string) ([]string, error) {
	all, err := Journals(fsys, home)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(path string) bool {
		root, err := rootOf(fsys, path)
		return err == nil && root != "" && root != absolute(dir)
	}), nil
}

// rootOf is the directory that a journal is about; "" if a power failure came before its first line, so that it tells nothing.
func rootOf(fsys vfs.FS, path string) (string, error) {
	b, err := readFile(fsys, path)
	if err != nil {
		return "", err
	}
	line, _, whole := bytes.Cut(b, []byte("\n"))
	var o op
	switch {
	case !whole || json.Unmarshal(line, &o) != nil:
		return "", nil
	case o.Root != "":
		return o.Root, nil
	}
	return absolute(filepath.Dir(path)), nil
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func createJournal(fsys vfs.FS, dir, home string, now time.Time) (*journal, error) {
	stamp := now.UTC().Format("20060102T150405.000000000")
	j := &journal{fs: fsys, dir: dir, home: home, name: prefix + strings.ReplaceAll(stamp, ".", "-")}
	f, err := fsys.OpenFile(j.own(j.name+journalSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	j.f = f
	begin := op{Op: "begin"}
	if home != dir {
		begin.Root = absolute(dir)
	}
	if err := errors.Join(j.write(begin), fsys.SyncDir(home)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// openJournal reads a journal and opens it to go on. A last line that is not whole was never acted on, and is cut.
func openJournal(fsys vfs.FS, path string) (*journal, []op, error) {
	root, err := rootOf(fsys, path)
	if err != nil {
		return nil, nil, err
	}
	if root == "" {
		root = filepath.Dir(path)
	}
	f, err := fsys.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	j := &journal{fs: fsys, dir: root, home: filepath.Dir(path), name: strings.TrimSuffix(filepath.Base(path), journalSuffix), f: f}
	ops, err := j.load()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return j, ops, nil
}

func (j *journal) load() ([]op, error) {
	size, err := j.f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxJournal {
		return nil, fmt.Errorf("%d bytes are no journal", size)
	}
	b := make([]byte, size)
	if n, err := j.f.ReadAt(b, 0); n < len(b) {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	var ops []op
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		var o op
		if !whole || json.Unmarshal(line, &o) != nil {
			break
		}
		for _, path := range []string{o.Path, o.To, o.Saved, o.Staged} {
			if path != "" && !filepath.IsLocal(path) {
				return nil, fmt.Errorf("line %d leads out of the directory", len(ops)+1)
			}
		}
		ops = append(ops, o)
		j.size += int64(len(line) + 1)
		j.n = max(j.n, 2*len(ops))
		b = rest
	}
	return ops, j.f.Truncate(j.size)
}

// maxJournal bounds what is read as a journal.
const maxJournal = 256 << 20

// write makes a line durable.
func (j *journal) write(o op) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if _, err := j.f.WriteAt(b, j.size); err != nil {
		return err
	}
	j.size += int64(len(b))
	return j.f.Sync()
}

// path is that of a file of the directory, own that of one of the journal's; "" for none.
func (j *journal) path(name string) string { return join(j.dir, name) }
func (j *journal) own(name string) string  { return join(j.home, name) }

func join(dir, name string) string {
	if name == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// file is the name of a new file that belongs to the journal.
func (j *journal) file(of, kind string) string {
	j.n++
	return fmt.Sprintf("%s-%04d.%s.%s", j.name, j.n, filepath.Base(of), kind)
}

func (j *journal) rel(path string) (string, error) {
	rel, err := filepath.Rel(absolute(j.dir), absolute(path))
	return filepath.ToSlash(rel), err
}

// sweep removes files of the journal that no line of it speaks of: they were being prepared when it ended.
func (j *journal) sweep(ops []op) error {
	entries, err := j.fs.ReadDir(j.home)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		known := slices.ContainsFunc(ops, func(o op) bool { return o.Saved == name || o.Staged == name })
		if strings.HasPrefix(name, j.name+"-") && !known {
			if err := j.fs.Remove(j.own(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (j *journal) close() error { return j.f.Close() }
