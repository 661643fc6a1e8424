package verify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Options say what Run looks at.
type Options struct {
	// FS is the file system; nil stands for the host's.
	FS vfs.FS
	// Path is a log directory, a partition directory, or one file of it.
	Path string
	// Notes reports what is normal too, such as leftovers.
	Notes bool
	// Deep reads the records of every batch, decompressing them, although the checksum is right.
	Deep bool
	// BytesPerSecond bounds the reading of logs; 0: no bound.
	BytesPerSecond int64
	// Progress hears how many bytes of logs were read since it was called last; nil: nobody does.
	Progress func(bytes int64)
	// Sleep waits, for the bound and between two looks; nil stands for time.Sleep until ctx ends.
	Sleep func(ctx context.Context, d time.Duration) error

	// Partition hears what was learned of each partition directory; nil: nobody does.
	Partition func(dir string, s *State)

	sleep func(d time.Duration) error
	// owed is what was read since the last wait, in bytes; shared by the copies of these Options.
	owed *int64
}

// Summary is what was looked at.
type Summary struct {
	Partitions int   `json:"partitions"`
	Segments   int   `json:"segments"`
	Batches    int64 `json:"batches"`
	Bytes      int64 `json:"bytes"`
	Notes      int   `json:"notes"`
	Warnings   int   `json:"warnings"`
	Errors     int   `json:"errors"`
}

// Healthy reports whether nothing but notes was found.
func (s Summary) Healthy() bool { return s.Warnings+s.Errors == 0 }

// ErrNothing: the path holds nothing that could be verified.
var ErrNothing = errors.New("neither a log directory, nor a partition directory, nor a file of one")

// Run verifies what o.Path names and hands each Finding to out, in the order of the files. The error is about what kept it
// from looking, not about what it saw.
func Run(ctx context.Context, o Options, out func(Finding)) (Summary, error) {
	var sum Summary
	o.complete(ctx)
	emit := func(f Finding) {
		switch f.Severity {
		case Note:
			sum.Notes++
			if !o.Notes {
				return
			}
		case Warning:
			sum.Warnings++
		default:
			sum.Errors++
		}
		out(f)
	}
	info, err := o.FS.Stat(o.Path)
	if err != nil {
		return sum, err
	}
	if !info.IsDir() {
		dir := filepath.Dir(o.Path)
		only := filepath.Clean(o.Path)
		err = o.one(ctx, dir, &sum, func(f Finding) {
			if filepath.Clean(f.File) == only {
				emit(f)
			}
		})
		return sum, err
	}
	if IsPartition(o.FS, o.Path) {
		return sum, o.one(ctx, o.Path, &sum, emit)
	}
	return sum, o.logDir(ctx, &sum, emit)
}

func (o *Options) complete(ctx context.Context) {
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	o.sleep = func(d time.Duration) error { return o.Sleep(ctx, d) }
	if o.owed == nil {
		o.owed = new(int64)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// paceStep is how much is read between two waits at most.
const paceStep = 1 << 20

// pace keeps to the bound after n bytes of a log were read.
func (o *Options) pace(n int64) error {
	if o.Progress != nil {
		o.Progress(n)
	}
	if o.BytesPerSecond <= 0 {
		return nil
	}
	if *o.owed += n; *o.owed < min(paceStep, o.BytesPerSecond/10) {
		return nil
	}
	n, *o.owed = *o.owed, 0
	return o.sleep(time.Duration(float64(n) / float64(o.BytesPerSecond) * float64(time.Second)))
}

// IsPartition reports whether a directory holds a partition: by its name, or by the segments in it.
func IsPartition(fsys vfs.FS, dir string) bool {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() == checkpoint.MetaPropertiesFile || e.Name() == checkpoint.RecoveryPointFile {
			return false
		}
	}
	for _, e := range entries {
		n, ok := segment.ParseName(e.Name())
		if ok && n.Suffix == segment.LogSuffix || e.Name() == segment.PartitionMetadataFile || e.Name() == segment.LeaderEpochFile {
			return true
		}
	}
	return false
}

// one verifies a partition directory, with what the directory around it tells.
func (o *Options) one(ctx context.Context, dir string, sum *Summary, emit func(Finding)) error {
	parent := filepath.Dir(filepath.Clean(dir))
	if abs, err := filepath.Abs(dir); err == nil && dir == "." {
		parent = filepath.Dir(abs)
	}
	facts := UnknownFacts()
	name := filepath.Base(dir)
	if _, err := o.FS.Stat(filepath.Join(parent, checkpoint.MetaPropertiesFile)); err == nil {
		facts = readFacts(o.FS, parent, func(Finding) {}).of(name)
	} else if kind, err := parseDir(name); err == nil {
		facts.Raft, facts.Deleting = kind.raft, kind.deleting
	}
	state, err := Partition(ctx, *o, dir, facts, emit)
	sum.add(state)
	o.learned(dir, state, err)
	return err
}

func (o *Options) learned(dir string, state *State, err error) {
	if o.Partition != nil && err == nil {
		o.Partition(dir, state)
	}
}

// Add counts what another Summary has counted.
func (s *Summary) Add(o Summary) {
	s.Partitions += o.Partitions
	s.Segments += o.Segments
	s.Batches += o.Batches
	s.Bytes += o.Bytes
	s.Notes += o.Notes
	s.Warnings += o.Warnings
	s.Errors += o.Errors
}

func (s *Summary) add(state *State) {
	if state != nil {
		s.Partitions++
		s.Segments += len(state.Segments)
		s.Batches += state.Batches
		s.Bytes += state.Bytes
	}
}

// looks is how often a partition that changes is looked at before what was found twice in a row counts.
const looks = 4

// Partition verifies one partition directory. What is found while the files change counts only if a second look finds it
// too, and does not change anything about a directory at rest, which is looked at once.
func Partition(ctx context.Context, o Options, dir string, facts Facts, out func(Finding)) (*State, error) {
	o.complete(ctx)
	var state *State
	err := o.settled(func() string { return signature(o.FS, dir) }, func(out func(Finding)) (err error) {
		state, err = partition(ctx, &o, dir, facts, out)
		return err
	}, out)
	return state, err
}

// settled looks until nothing has changed meanwhile, as sign tells, or until looks are enough; then what two looks in a row
// have found counts.
func (o *Options) settled(sign func() string, look func(out func(Finding)) error, out func(Finding)) error {
	var before map[key]bool
	for n := 1; ; n++ {
		var all []Finding
		was := sign()
		if err := look(func(f Finding) { all = append(all, f) }); err != nil {
			return err
		}
		quiet := was == sign()
		if before != nil && !quiet {
			all = slices.DeleteFunc(all, func(f Finding) bool { return !before[f.key()] })
		}
		serious := slices.ContainsFunc(all, func(f Finding) bool { return f.Severity > Note })
		if quiet || !serious || n == looks {
			for _, f := range all {
				out(f)
			}
			return nil
		}
		before = map[key]bool{}
		for _, f := range all {
			before[f.key()] = true
		}
		if err := o.sleep(settle); err != nil {
			return err
		}
	}
}

// settle is how long a broker needs at most between two writes that belong together.
const settle = 200 * time.Millisecond

// signature changes when a file of the directory does.
func signature(fsys vfs.FS, dir string) string {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
