package savepoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// Rollback brings the directories of a savepoint back to the moment of it. each hears of every step before it is made; nil: nobody does.
func Rollback(ctx context.Context, fsys vfs.FS, file string, each func(Step)) (plan *Plan, err error) {
	if fsys == nil {
		fsys = vfs.NewOS()
	}
	m, err := load(fsys, file)
	if err != nil {
		return nil, err
	}
	held, err := lockAll(fsys, m.head.Dirs)
	if err != nil {
		return nil, err
	}
	keep := make([]bool, len(m.head.Dirs))
	for _, l := range m.lines {
		keep[l.Dir] = keep[l.Dir] || l.Path == lockFile
	}
	defer func() {
		if err != nil { // an interrupted one is not the state of the savepoint
			keep = nil
		}
		err = errors.Join(err, held.release(keep))
		for _, dir := range m.head.Dirs {
			err = errors.Join(err, fsys.SyncDir(dir))
		}
	}()
	if plan, err = makePlan(ctx, fsys, file); err != nil {
		return nil, err
	}
	if len(plan.Lost) > 0 {
		return plan, fmt.Errorf("%w: %s", ErrLost, plan.Lost[0])
	}
	r := &rollback{fs: fsys, m: plan.m, each: each}
	return plan, r.run(ctx, plan.Steps)
}

// rollback carries the steps of a plan out.
type rollback struct {
	fs   vfs.FS
	m    *manifest
	data vfs.File
	each func(Step)
	bufs buffers
}

func (r *rollback) run(ctx context.Context, steps []Step) error {
	if len(steps) == 0 {
		return nil
	}
	if slices.ContainsFunc(steps, func(s Step) bool { return s.phase != mark }) {
		if err := r.unmark(); err != nil {
			return err
		}
	}
	return r.finish(ctx, steps)
}

// unmark takes away what lets a broker trust the directories (SAV-4).
func (r *rollback) unmark() error {
	for _, name := range []string{checkpoint.CleanShutdownFile, checkpoint.RecoveryPointFile} {
		for _, dir := range r.m.head.Dirs {
			if err := r.fs.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := r.fs.SyncDir(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish makes all steps. Marker and recovery points come back whether they were there or not when the plan was made: unmark has removed them.
func (r *rollback) finish(ctx context.Context, steps []Step) (err error) {
	if r.data, err = r.fs.OpenFile(r.m.data(), os.O_RDONLY, 0); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.data.Close()) }()
	changed := "" // the directory whose names were changed and not synced yet
	sync := func() error {
		if changed == "" {
			return nil
		}
		dir := changed
		changed = ""
		return r.fs.SyncDir(dir)
	}
	last := Step{phase: -1}
	for _, s := range steps {
		if s.phase == mark {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.each != nil {
			r.each(s)
		}
		dir := filepath.Dir(s.Path)
		if dir != changed || s.phase != last.phase || s.phase == raft && s.rank != last.rank {
			if err := sync(); err != nil {
				return err
			}
		}
		if err := r.step(s); err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
		changed, last = dir, s
	}
	if err := sync(); err != nil {
		return err
	}
	return r.mark(steps)
}

// mark brings recovery points and markers back, and removes what was not there.
func (r *rollback) mark(steps []Step) error {
	for _, name := range []string{checkpoint.RecoveryPointFile, checkpoint.CleanShutdownFile} {
		for i := range r.m.lines {
			if l := &r.m.lines[i]; l.Kind == "file" && l.Path == name {
				if err := r.put(l); err != nil {
					return err
				}
			}
		}
	}
	for _, s := range steps {
		if s.phase == mark && s.line == nil {
			if err := r.fs.Remove(s.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for _, dir := range r.m.head.Dirs {
		if err := r.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (r *rollback) step(s Step) error {
	switch s.Kind {
	case "mkdir":
		return r.fs.MkdirAll(s.Path, fs.FileMode(s.line.Perm))
	case "remove":
		if err := r.fs.Remove(s.Path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // it was a file on its way that a step has used
	case "removedir":
		return r.removeDir(s.Path)
	case "cut":
		return r.restore(s.Path, s.line)
	case "time":
		return r.time(s.Path, s.line)
	default:
		return r.put(s.line)
	}
}

func (r *rollback) removeDir(path string) error {
	if name := aside(filepath.Base(path)); name != "" {
		to := filepath.Join(filepath.Dir(path), name)
		if err := r.fs.RemoveAll(to); err != nil { // of a rollback that was interrupted
			return err
		}
		if err := errors.Join(r.fs.Rename(path, to), r.fs.SyncDir(filepath.Dir(path))); err != nil {
			return err
		}
		path = to
	}
	return r.fs.RemoveAll(path)
}

// put brings a file back: beside its place, then over it. Of a log it is the second name that comes back; it is cut once it is there, so
// that the file which is there now stays whole until it is replaced.
func (r *rollback) put(l *line) error {
	path := r.m.path(l)
	work := path + workSuffix
	if err := r.fs.Remove(work); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if l.Link == "" {
		if err := r.copy(work, l); err != nil {
			return err
		}
		return r.fs.Rename(work, path)
	}
	if err := vfs.Link(r.fs, r.m.link(l), work); err != nil {
		return err
	}
	if err := r.fs.Rename(work, path); err != nil {
		return err
	}
	// Renaming one name of a file over another of it does nothing: then the file was back already.
	if err := r.fs.Remove(work); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.restore(path, l)
}

// copy makes a file from the copies.
func (r *rollback) copy(path string, l *line) error {
	f, err := r.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fs.FileMode(l.Perm))
	if err != nil {
		return err
	}
	if err := errors.Join(l.fill(f, r.data, &r.bufs), f.Close()); err != nil {
		return err
	}
	return r.time(path, l)
}

// restore gives a log that is there its length and its last bytes.
func (r *rollback) restore(path string, l *line) error {
	f, err := r.fs.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil && size < l.Keep {
		err = fmt.Errorf("%w: it has %d bytes", ErrLost, size)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(l.fill(f, r.data, &r.bufs), f.Close()); err != nil {
		return err
	}
	return r.time(path, l)
}

func (r *rollback) time(path string, l *line) error {
	return r.fs.Chtimes(path, time.Unix(0, l.ModTime))
}
