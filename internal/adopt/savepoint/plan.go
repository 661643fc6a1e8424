package savepoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Step is one change that Rollback makes.
type Step struct {
	// Kind is put (a file comes back), cut (what was appended goes), time (only the time of the last change differs), mkdir, remove, or
	// removedir.
	Kind string `json:"kind"`
	Path string `json:"path"`
	// Bytes is how long a file gets, or how much goes.
	Bytes int64 `json:"bytes"`

	phase, rank int
	line        *line
}

// String is one line.
func (s Step) String() string { return fmt.Sprintf("%-9s %s (%d bytes)", s.Kind, s.Path, s.Bytes) }

// Phases of a rollback, in order (SAV-4, SAV-6).
const (
	unmark     = iota // the marker of an orderly stop and the recovery points go
	top               // the other files at the top
	partitions        // partition directories
	raft              // the metadata log
	mark              // recovery points and marker come back
)

// Plan is what Rollback would do.
type Plan struct {
	File      string   `json:"file"`
	CreatedMs int64    `json:"createdMs"`
	Dirs      []string `json:"dirs"`
	// InUse are the directories that a broker holds.
	InUse []string `json:"inUse"`
	// Logs say which records are given up and which come back.
	Logs  []Log  `json:"logs"`
	Steps []Step `json:"steps"`
	// Lost is what cannot be given back. Rollback refuses then.
	Lost []string `json:"lost"`

	m *manifest
}

// ErrLost: not everything can be given back, so nothing was changed.
var ErrLost = errors.New("not everything can be given back")

// planner compares what is there with what was saved.
type planner struct {
	fs   vfs.FS
	m    *manifest
	data vfs.File
	plan *Plan
	want []map[string]*line // by directory and path: dirs and files
	seen []map[string]bool
	bufs *buffers
}

// MakePlan compares the directories of a savepoint with it. Nothing is changed, and a broker may be running.
func MakePlan(ctx context.Context, fsys vfs.FS, file string) (*Plan, error) {
	if fsys == nil {
		fsys = vfs.NewOS()
	}
	p, err := makePlan(ctx, fsys, file)
	if err != nil {
		return nil, err
	}
	return p, p.records(ctx, fsys)
}

func makePlan(ctx context.Context, fsys vfs.FS, file string) (*Plan, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	m, err := load(fsys, abs)
	if err != nil {
		return nil, err
	}
	p := &planner{fs: fsys, m: m, plan: &Plan{File: abs, CreatedMs: m.head.CreatedMs, Dirs: m.head.Dirs, m: m}, bufs: new(buffers)}
	if p.data, err = fsys.OpenFile(m.data(), os.O_RDONLY, 0); err != nil {
		return nil, err
	}
	err = p.run(ctx)
	return p.plan, errors.Join(err, p.data.Close())
}

func (p *planner) run(ctx context.Context) error {
	for range p.m.head.Dirs {
		p.want, p.seen = append(p.want, map[string]*line{}), append(p.seen, map[string]bool{})
	}
	for i := range p.m.lines {
		if l := &p.m.lines[i]; l.Kind == "dir" || l.Kind == "file" {
			p.want[l.Dir][l.Path] = l
		}
	}
	for i, dir := range p.m.head.Dirs {
		if err := p.walk(ctx, i, dir, ""); err != nil {
			return err
		}
	}
	for i := range p.m.lines {
		l := &p.m.lines[i]
		if p.want[l.Dir][l.Path] != l || p.seen[l.Dir][l.Path] {
			continue
		}
		if l.Kind == "dir" {
			p.add("mkdir", l.Dir, l.Path, 0, l)
			continue
		}
		if err := p.missing(l); err != nil {
			return err
		}
	}
	p.order()
	return nil
}

// walk compares what is in a directory.
func (p *planner) walk(ctx context.Context, i int, dir, rel string) error {
	entries, err := p.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && rel == "" {
		return fmt.Errorf("%s is not there: is its disk mounted? %w", dir, err)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := e.Name()
		if rel != "" {
			name = rel + "/" + e.Name()
		}
		l := p.want[i][name]
		path := filepath.Join(dir, e.Name())
		switch {
		case name == lockFile, name == lostFound && e.IsDir():
			p.seen[i][name] = true
		case l == nil || e.IsDir() != (l.Kind == "dir"):
			err = p.surplus(i, name, e)
		case e.IsDir():
			p.seen[i][name] = true
			err = p.walk(ctx, i, path, name)
		default:
			p.seen[i][name] = true
			err = p.compare(l, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) surplus(i int, name string, e fs.DirEntry) error {
	if e.IsDir() {
		size, err := treeSize(p.fs, filepath.Join(p.m.head.Dirs[i], filepath.FromSlash(name)))
		p.add("removedir", i, name, size, nil)
		return err
	}
	info, err := e.Info()
	if err == nil {
		p.add("remove", i, name, info.Size(), nil)
	}
	return err
}

func treeSize(fsys vfs.FS, dir string) (total int64, err error) {
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		n := int64(0)
		if e.IsDir() {
			n, err = treeSize(fsys, filepath.Join(dir, e.Name()))
		} else if info, failed := e.Info(); failed == nil {
			n = info.Size()
		}
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, err
}

func (p *planner) add(kind string, i int, rel string, bytes int64, l *line) {
	s := Step{Kind: kind, Path: filepath.Join(p.m.head.Dirs[i], filepath.FromSlash(rel)), Bytes: bytes, line: l}
	s.phase, s.rank = rank(kind, rel)
	if rel == checkpoint.MetaPropertiesFile && p.holdsMetadata(i) {
		s.rank = 1
	}
	p.plan.Steps = append(p.plan.Steps, s)
}

// holdsMetadata tells the directory whose meta.properties says what the node is: when that goes back to a version 0, or one
// comes of it, the others have been ready for it, and a broker opens what an interrupted rollback leaves.
func (p *planner) holdsMetadata(i int) bool {
	_, err := p.fs.Stat(filepath.Join(p.m.head.Dirs[i], record.TopicPartition{Topic: metadata.TopicName}.String()))
	return err == nil
}

func (p *planner) lost(l *line, format string, args ...any) {
	p.plan.Lost = append(p.plan.Lost, p.m.path(l)+": "+fmt.Sprintf(format, args...))
}

// missing plans for a file that is not there.
func (p *planner) missing(l *line) error {
	if err := p.sound(l); err != nil {
		return err
	}
	if l.Keep > 0 && l.Link == "" {
		p.lost(l, "it was deleted, and the savepoint has no copy of its %d bytes", l.Keep)
		return nil
	}
	p.add("put", l.Dir, l.Path, l.Size, l)
	return nil
}

// sound checks that the copies, and the second name, hold what they should (SAV-3).
func (p *planner) sound(l *line) error {
	if err := l.whole(p.data, p.bufs); errors.Is(err, ErrFormat) {
		p.lost(l, "%v", err)
	} else if err != nil {
		return err
	}
	if l.Link == "" {
		return nil
	}
	err := open(p.fs, p.m.link(l), func(f vfs.File, size int64) error { return p.kept(l, f, size) })
	if errors.Is(err, fs.ErrNotExist) {
		p.lost(l, "its second name %s is gone", p.m.link(l))
		return nil
	}
	return err
}

// kept checks the bytes of a log that were to stay.
func (p *planner) kept(l *line, f vfs.File, size int64) error {
	if size < l.Keep {
		p.lost(l, "it was cut to %d bytes, of which %d were to be kept", size, l.Keep)
		return nil
	}
	crc, err := tailCRC(f, l.Keep)
	if err == nil && crc != l.TailCRC {
		p.lost(l, "its bytes before byte %d were written anew", l.Keep)
	}
	return err
}

// compare plans for a file that is there.
func (p *planner) compare(l *line, path string) error {
	if err := p.sound(l); err != nil {
		return err
	}
	info, err := p.fs.Stat(path)
	if err != nil {
		return err
	}
	mine := true // it is the log that was saved, or whatever has its name if there is no second one
	if l.Link != "" {
		link, err := p.fs.Stat(p.m.link(l))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		mine = err == nil && vfs.SameFile(info, link)
	}
	if l.Keep > 0 && l.Link == "" {
		if err := open(p.fs, path, func(f vfs.File, size int64) error { return p.kept(l, f, size) }); err != nil {
			return err
		}
	}
	equal := false
	if mine && info.Size() == l.Size {
		err := open(p.fs, path, func(f vfs.File, _ int64) (err error) { equal, err = l.same(f, p.data, p.bufs); return err })
		if err != nil {
			return err
		}
	}
	inPlace := l.Link != "" || l.Keep > 0
	switch {
	case !mine, !inPlace && (!equal || uint32(info.Mode().Perm()) != l.Perm):
		p.add("put", l.Dir, l.Path, l.Size, l)
	case !equal:
		p.add("cut", l.Dir, l.Path, info.Size()-l.Size, l)
	case info.ModTime().UnixNano() != l.ModTime:
		p.add("time", l.Dir, l.Path, l.Size, l)
	}
	return nil
}

// rank is the phase of a step, and its place among the steps of one directory.
func rank(kind, rel string) (phase, rank int) {
	dir, file, inside := strings.Cut(rel, "/")
	switch {
	case rel == checkpoint.CleanShutdownFile || rel == checkpoint.RecoveryPointFile:
		return mark, 0
	case !inside && kind != "mkdir" && kind != "removedir":
		return top, 0
	case dir == record.TopicPartition{Topic: metadata.TopicName}.String():
		return raft, rankRaft(kind, file)
	}
	// What is too much goes first, so that no two segments hold the same offsets; then what is another file of the same name is replaced,
	// then what is missing comes, the topic's id before anything else; at last what was appended is cut off.
	return partitions, map[string]int{"mkdir": 0, "removedir": 1, "remove": 2, "put": 3, "cut": 4, "time": 4}[kind]
}

// rankRaft orders the steps of the metadata log (SAV-6): newer segments go while the snapshot that follows them is there, older files come,
// what was appended is cut off, and only then newer snapshots go, the newest first; the vote comes last.
func rankRaft(kind, file string) int {
	switch {
	case kind == "mkdir":
		return 0
	case kind == "remove" && strings.HasSuffix(file, ".checkpoint"):
		return 4
	case kind == "remove" || kind == "removedir":
		return 1
	case kind == "put" && file == "quorum-state":
		return 5
	case kind == "put":
		return 2
	}
	return 3
}

// order sorts the steps. Files go from the newest on and come from the oldest on, as their names are ordered.
func (p *planner) order() {
	steps := p.plan.Steps
	slices.SortStableFunc(steps, func(a, b Step) int {
		if c := cmp.Compare(a.phase, b.phase); c != 0 {
			return c
		}
		if a.phase == partitions {
			if c := cmp.Compare(partitionOf(a), partitionOf(b)); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(a.rank, b.rank); c != 0 {
			return c
		}
		if a.Kind == "remove" && b.Kind == "remove" {
			return cmp.Compare(b.Path, a.Path)
		}
		return cmp.Or(-cmp.Compare(first(a), first(b)), cmp.Compare(a.Path, b.Path))
	})
}

// partitionOf is the directory that a step is about.
func partitionOf(s Step) string {
	if s.Kind == "mkdir" || s.Kind == "removedir" {
		return s.Path
	}
	return filepath.Dir(s.Path)
}

// first is 1 for the file that a partition is known by.
func first(s Step) int {
	if filepath.Base(s.Path) == segment.PartitionMetadataFile {
		return 1
	}
	return 0
}

// aside is the name under which a partition directory is removed: no broker takes it for the partition any more.
func aside(name string) string {
	n, err := logdir.ParseName(name)
	if err != nil || n.Kind != logdir.Current {
		return ""
	}
	return logdir.FormatName(n.TopicPartition, logdir.Deleted, record.UUID{0: 's', 1: 'a', 2: 'm', 3: 's', 4: 'a'})
}
