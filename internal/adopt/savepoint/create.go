package savepoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/internal/adopt"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Options say what to save, and where.
type Options struct {
	// FS is the file system; nil stands for the host's.
	FS vfs.FS
	// Dirs are all log directories of one node, MetadataDir the one with the metadata log, be it one of them or not; "": the one that has it.
	Dirs        []string
	MetadataDir string
	// File is the savepoint to be made; File+".d" comes with it.
	File string
	// Segments says how the logs of segments are kept; "": Link.
	Segments Mode
	// Links are directories for second names, one on each file system that holds log directories and not File.
	Links []string
	// Now is the clock; nil stands for time.Now.
	Now func() time.Time
}

// Summary is what was saved.
type Summary struct {
	File string `json:"file"`
	// Files is how many, Copied how many bytes of them are copied, Linked how many bytes of logs are kept by second names.
	Files  int   `json:"files"`
	Copied int64 `json:"copiedBytes"`
	Linked int64 `json:"linkedBytes"`
	// Uncovered are the bytes of logs that nothing keeps from being deleted (Mode None).
	Uncovered int64 `json:"uncoveredBytes"`
	Logs      int   `json:"logs"`
}

// What keeps a savepoint from being made or used.
var (
	// ErrInUse: a broker holds the lock of a directory.
	ErrInUse = errors.New("the directory is in use")
	// ErrExists: there is a savepoint of that name.
	ErrExists = errors.New("there is a savepoint already")
	// ErrPlace: the savepoint cannot be there.
	ErrPlace = errors.New("the savepoint cannot be there")
	// ErrIrregular: a directory holds what is neither a file nor a directory.
	ErrIrregular = errors.New("neither a file nor a directory")
)

func (o *Options) complete() (err error) {
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Segments == "" {
		o.Segments = Link
	}
	if o.File, err = filepath.Abs(o.File); err != nil {
		return err
	}
	dirs := make([]string, len(o.Dirs))
	for i, dir := range o.Dirs {
		if dirs[i], err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	if o.MetadataDir != "" {
		if o.MetadataDir, err = filepath.Abs(o.MetadataDir); err != nil {
			return err
		}
		if !slices.Contains(dirs, o.MetadataDir) {
			dirs = append(dirs, o.MetadataDir)
		}
	}
	o.Dirs = dirs
	for _, path := range append([]string{o.File}, o.Links...) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if abs == dir || strings.HasPrefix(abs, dir+string(filepath.Separator)) {
				return fmt.Errorf("%w: %s is inside of the log directory %s", ErrPlace, path, dir)
			}
		}
	}
	return nil
}

// saving is a savepoint on its way.
type saving struct {
	Options
	w      *writer
	copy   *copier
	head   head
	tails  tails
	sum    Summary
	linked int
	places map[string]bool
	// had tells of each directory whether its lock file was there before.
	had []bool
}

// Create makes a savepoint of directories that nobody uses. If it is interrupted there is none, and the next Create of that name begins anew.
func Create(ctx context.Context, o Options) (sum *Summary, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	locks, err := lockAll(o.FS, o.Dirs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, locks.release(nil)) }()
	report, err := adopt.Look(ctx, adopt.Options{FS: o.FS, Dirs: o.Dirs, MetadataDir: o.MetadataDir, Locked: true, Now: o.Now})
	if err != nil {
		return nil, err
	}
	s := &saving{Options: o, places: map[string]bool{}, had: locks.had, tails: tails{fs: o.FS, report: report}}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.write(ctx); err != nil {
		return nil, errors.Join(err, s.drop())
	}
	s.sum.File = o.File
	return &s.sum, nil
}

// prepare makes the directory beside the savepoint, after removing what an interrupted Create has left.
func (s *saving) prepare() error {
	if _, err := s.FS.Stat(s.File); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%w: %s", ErrExists, s.File))
	}
	if _, err := s.FS.Stat(filepath.Dir(s.File)); err != nil {
		return fmt.Errorf("%w: %w", ErrPlace, err)
	}
	dir := s.File + dirSuffix
	if err := s.own(dir); err != nil {
		return err
	}
	s.places[dir] = true
	f, err := s.FS.OpenFile(filepath.Join(dir, dataFile), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	s.copy = &copier{f: f}
	f, err = s.FS.OpenFile(s.File+tmpSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(err, s.copy.f.Close())
	}
	s.w = &writer{f: f}
	return nil
}

// drop removes what was made of a savepoint that there will not be.
func (s *saving) drop() error {
	err := s.FS.Remove(s.File + tmpSuffix)
	for place := range s.places {
		err = errors.Join(err, s.FS.RemoveAll(place))
	}
	return err
}

// own makes an empty directory with our mark.
func (s *saving) own(dir string) error {
	mark := filepath.Join(dir, markFile)
	entries, err := s.FS.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		if _, err := s.FS.Stat(mark); err != nil {
			return fmt.Errorf("%w: %s is there and is no savepoint's", ErrPlace, dir)
		}
		if err := s.FS.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.FS.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := s.FS.OpenFile(mark, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), s.FS.SyncDir(dir), s.FS.SyncDir(filepath.Dir(dir)))
}

// write writes everything and gives the savepoint its name last (SAV-2).
func (s *saving) write(ctx context.Context) error {
	err := s.content(ctx)
	err = errors.Join(err, s.copy.f.Sync(), s.copy.f.Close())
	if err == nil {
		err = s.w.end(s.copy.pos)
	}
	if err = errors.Join(err, s.w.f.Close()); err != nil {
		return err
	}
	for place := range s.places {
		if err := s.FS.SyncDir(place); err != nil {
			return err
		}
	}
	if err := s.FS.Rename(s.File+tmpSuffix, s.File); err != nil {
		return err
	}
	return s.FS.SyncDir(filepath.Dir(s.File))
}

func (s *saving) content(ctx context.Context) error {
	s.head = head{Savepoint: 1, CreatedMs: s.Now().UnixMilli(), Segments: s.Segments, Dirs: s.Dirs}
	for i := range s.Dirs {
		place, err := s.place(i)
		if err != nil {
			return err
		}
		s.head.Places = append(s.head.Places, place)
	}
	if err := s.w.add(s.head); err != nil {
		return err
	}
	for i, dir := range s.Dirs {
		if err := s.walk(ctx, i, dir, ""); err != nil {
			return err
		}
	}
	for _, l := range logLines(s.tails.report, s.Dirs) {
		if err := s.w.add(l); err != nil {
			return err
		}
		s.sum.Logs++
	}
	return nil
}

// place finds where the second names of a directory's logs can be: beside the savepoint, or in one of Links. What is tried with is the
// directory's meta.properties.
func (s *saving) place(i int) (string, error) {
	if s.Segments != Link {
		return "", nil
	}
	probe, err := s.anyFile(s.Dirs[i])
	if err != nil || probe == "" {
		return s.File + dirSuffix, err
	}
	candidates := []string{s.File + dirSuffix}
	for _, l := range s.Links {
		if _, err := s.FS.Stat(l); err != nil {
			return "", fmt.Errorf("%w: %w", ErrPlace, err)
		}
		candidates = append(candidates, filepath.Join(l, filepath.Base(s.File)+dirSuffix))
	}
	var why error
	for _, place := range candidates {
		if !s.places[place] {
			if err := s.own(place); err != nil {
				return "", err
			}
			s.places[place] = true
		}
		name := filepath.Join(place, fmt.Sprintf("%d-probe", i))
		err := vfs.Link(s.FS, probe, name)
		if err == nil {
			return place, s.FS.Remove(name)
		}
		if !errors.Is(err, vfs.ErrNoLink) {
			return "", err
		}
		if why = err; place != candidates[0] {
			delete(s.places, place)
			if err := s.FS.RemoveAll(place); err != nil {
				return "", err
			}
		}
	}
	return "", fmt.Errorf("%w: the logs of %s get no second name: %w", ErrPlace, s.Dirs[i], why)
}

// anyFile is a file of a directory, "" if it has none.
func (s *saving) anyFile(dir string) (string, error) {
	entries, err := s.FS.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != lockFile {
			return filepath.Join(dir, e.Name()), err
		}
	}
	return "", err
}

// walk saves what is in a directory; rel is its path in the log directory.
func (s *saving) walk(ctx context.Context, i int, dir, rel string) error {
	entries, err := s.FS.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		path, name := filepath.Join(dir, e.Name()), filepath.Join(rel, e.Name())
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case rel == "" && e.Name() == lockFile && !s.had[i]:
		case rel == "" && e.IsDir() && e.Name() == lostFound:
		case e.IsDir():
			if err := s.w.add(line{Kind: "dir", Dir: i, Path: filepath.ToSlash(name), Perm: uint32(info.Mode().Perm())}); err != nil {
				return err
			}
			if err := s.walk(ctx, i, path, name); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if err := s.file(i, path, name, info); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		default:
			return fmt.Errorf("%s: %w: it would not come back as it is", path, ErrIrregular)
		}
	}
	return nil
}

// isLog reports whether a file is the log of a segment, in whatever state: append-only, and large.
func isLog(name string) bool {
	n, ok := segment.ParseName(name)
	return ok && n.Suffix == segment.LogSuffix
}

// file saves one file.
func (s *saving) file(i int, path, rel string, info fs.FileInfo) error {
	l := line{Kind: "file", Dir: i, Path: filepath.ToSlash(rel), Perm: uint32(info.Mode().Perm()), ModTime: info.ModTime().UnixNano()}
	s.sum.Files++
	err := open(s.FS, path, func(f vfs.File, size int64) (err error) {
		if l.Size = size; isLog(filepath.Base(rel)) && s.Segments != Copy {
			if l.Keep, err = s.tails.whole(path, size); err != nil {
				return err
			}
			if l.TailCRC, err = tailCRC(f, l.Keep); err != nil {
				return err
			}
			if err := s.second(i, path, f, &l); err != nil {
				return err
			}
		}
		before := s.copy.pos
		l.Extents, l.CRC, err = s.copy.add(f, l.Keep, l.Size)
		s.sum.Copied += s.copy.pos - before
		return err
	})
	if err != nil {
		return err
	}
	return s.w.add(l)
}

// second gives a log its second name, and makes its bytes durable: what is there now must be there after a power failure.
func (s *saving) second(i int, path string, f vfs.File, l *line) error {
	if s.Segments == None {
		s.sum.Uncovered += l.Keep
		return nil
	}
	s.sum.Linked += l.Keep
	s.linked++
	l.Link = fmt.Sprintf("%d-%d%s", i, s.linked, segment.LogSuffix)
	if err := vfs.Link(s.FS, path, filepath.Join(s.head.Places[i], l.Link)); err != nil {
		return err
	}
	return f.Sync()
}
