package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// What keeps a repair from being done.
var (
	// ErrInUse: a broker, or another repair, holds the directory's lock.
	ErrInUse = errors.New("the directory is in use")
	// ErrUnfinished: an undo was interrupted; only an undo can go on.
	ErrUnfinished = errors.New("an undo was interrupted; run it again")
)

// lockFile is what a broker locks in each log directory.
const lockFile = ".lock"

// root is where lock and journal lie: the log directory, or a partition directory that lies in none.
func root(fsys vfs.FS, dir string) string {
	if !verify.IsPartition(fsys, dir) {
		return dir
	}
	parent := filepath.Dir(dir)
	if abs, err := filepath.Abs(dir); err == nil && dir == "." {
		parent = filepath.Dir(abs)
	}
	if exists(fsys, filepath.Join(parent, checkpoint.MetaPropertiesFile)) {
		return parent
	}
	return dir
}

// lock takes the lock; the function returned gives it back, and removes the file if it was not there before.
func lock(fsys vfs.FS, dir string) (func() error, error) {
	path := filepath.Join(dir, lockFile)
	had := exists(fsys, path)
	l, err := fsys.Lock(path)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	return func() error {
		var err error
		if !had {
			err = fsys.Remove(path)
		}
		return errors.Join(err, l.Close())
	}, nil
}

// Result is what a repair has done.
type Result struct {
	// Journal is the path that Undo takes; "" when there was nothing to do.
	Journal string
	Done    []Action
	Plan    *Plan
}

// Run repairs: it takes the lock, finishes what an interrupted repair had begun, makes a plan and carries it out. each hears
// of every action before it is done; nil: nobody does.
func Run(ctx context.Context, o Options, each func(Action)) (result *Result, err error) {
	o.complete()
	dir := root(o.FS, o.Dir)
	unlock, err := lock(o.FS, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	home := dir
	if o.Free != nil {
		home = filepath.Clean(o.Free.Aside)
		if err := o.Free.ready(o.FS, dir); err != nil {
			return nil, err
		}
	}
	j, err := unfinished(o.FS, dir, home)
	if err != nil {
		return nil, err
	}
	result = &Result{}
	if result.Plan, err = MakePlan(ctx, o); err != nil {
		return result, closing(j, err)
	}
	if j == nil && len(result.Plan.Actions) == 0 {
		return result, nil
	}
	if j == nil {
		if j, err = createJournal(o.FS, dir, home, o.Now()); err != nil {
			return result, err
		}
	}
	result.Journal = j.own(j.name + journalSuffix)
	for plan, round := result.Plan, 1; len(plan.Actions) > 0 && round <= rounds; round++ {
		if err := result.carryOut(ctx, j, plan, each); err != nil {
			return result, closing(j, err)
		}
		if plan, err = MakePlan(ctx, o); err != nil {
			return result, closing(j, err)
		}
	}
	return result, closing(j, j.write(op{Op: "end"}))
}

// rounds bounds how often a plan is made: what one repair uncovers, such as a snapshot that can be judged only when the batch
// before it is gone, the next one mends.
const rounds = 3

// carryOut does what a plan says.
func (r *Result) carryOut(ctx context.Context, j *journal, plan *Plan, each func(Action)) error {
	for _, a := range plan.Actions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if each != nil {
			each(a)
		}
		if err := a.do(j); err != nil {
			return fmt.Errorf("%s: %w", a.Path, err)
		}
		r.Done = append(r.Done, a)
	}
	return nil
}

func closing(j *journal, err error) error {
	if j == nil {
		return err
	}
	return errors.Join(err, j.close())
}

// unfinished opens the journal of a repair that was interrupted, after making its last change whole; nil if there is none.
func unfinished(fsys vfs.FS, dir, home string) (*journal, error) {
	paths, err := journalsOf(fsys, dir, home)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	j, ops, err := openJournal(fsys, paths[len(paths)-1])
	if err != nil {
		return nil, err
	}
	switch {
	case slices.ContainsFunc(ops, func(o op) bool { return o.Op == "undo" }):
		return nil, closing(j, fmt.Errorf("%s: %w", paths[len(paths)-1], ErrUnfinished))
	case len(ops) > 0 && ops[len(ops)-1].Op == "end":
		return nil, j.close()
	case len(ops) == 0 && home != dir: // it tells nothing, not even of what it is about
		return nil, errors.Join(j.close(), fsys.Remove(paths[len(paths)-1]))
	case len(ops) > 0:
		if err := j.apply(ops[len(ops)-1]); err != nil {
			return nil, closing(j, err)
		}
	default:
		if err := j.write(op{Op: "begin"}); err != nil {
			return nil, closing(j, err)
		}
	}
	return j, errors.Join(j.sweep(ops))
}

// Undo takes back everything that the journal tells, the last change first, and removes the journal.
func Undo(ctx context.Context, fsys vfs.FS, path string) (n int, err error) {
	if fsys == nil {
		fsys = vfs.NewOS()
	}
	dir, err := rootOf(fsys, path)
	if err != nil {
		return 0, err
	}
	if dir == "" {
		dir = filepath.Dir(path)
	}
	unlock, err := lock(fsys, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	later, err := laterThan(fsys, dir, path)
	if err != nil {
		return 0, err
	}
	if later != "" {
		return 0, fmt.Errorf("undo the later repair first: %s", later)
	}
	j, ops, err := openJournal(fsys, path)
	if err != nil {
		return 0, err
	}
	if err := j.write(op{Op: "undo"}); err != nil {
		return 0, closing(j, err)
	}
	for _, o := range slices.Backward(ops) {
		if err := ctx.Err(); err != nil {
			return n, closing(j, err)
		}
		if err := j.revert(o); err != nil {
			return n, closing(j, fmt.Errorf("%s %s: %w", o.Op, o.Path, err))
		}
		n++
	}
	if err := closing(j, j.sweep(nil)); err != nil {
		return n, err
	}
	return n, errors.Join(fsys.Remove(path), fsys.SyncDir(filepath.Dir(path)))
}

// laterThan is a journal about dir that was begun after the one at path.
func laterThan(fsys vfs.FS, dir, path string) (string, error) {
	all, err := journalsOf(fsys, dir, filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) || err != nil || len(all) == 0 {
		return "", err
	}
	if last := all[len(all)-1]; filepath.Base(last) > filepath.Base(path) {
		return last, nil
	}
	return "", nil
}
