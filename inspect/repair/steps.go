package repair

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/samsalog/samsa/vfs"
)

// do writes the line, then makes the change.
func (j *journal) do(o op) error {
	if err := j.write(o); err != nil {
		return err
	}
	return j.apply(o)
}

// modTime is a file's time of the last change, in ns.
func (j *journal) modTime(path string) (int64, int64, error) {
	info, err := j.fs.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	return info.ModTime().UnixNano(), info.Size(), nil
}

// stage writes a file of the journal, durably.
func (j *journal) stage(name string, write func(vfs.File) error) error {
	f, err := j.fs.OpenFile(j.own(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return j.fs.SyncDir(j.home)
}

// replace gives a file new content; what was there is saved.
func (j *journal) replace(path, why string, content []byte) error {
	rel, err := j.rel(path)
	if err != nil {
		return err
	}
	o := op{Op: "replace", Path: rel, Staged: j.file(path, "new"), Why: why}
	if exists(j.fs, path) {
		o.Saved = j.file(path, "saved")
	}
	if err := j.stage(o.Staged, func(f vfs.File) error { _, err := f.WriteAt(content, 0); return err }); err != nil {
		return err
	}
	return j.do(o)
}

// move takes a file away.
func (j *journal) move(path, why string) error {
	rel, err := j.rel(path)
	if err != nil {
		return err
	}
	return j.do(op{Op: "move", Path: rel, Saved: j.file(path, "saved"), Why: why})
}

// cut shortens a file to its first from bytes.
func (j *journal) cut(path, why string, from int64) error {
	rel, err := j.rel(path)
	if err != nil {
		return err
	}
	o := op{Op: "cut", Path: rel, Saved: j.file(path, "saved"), From: from, Why: why}
	if o.ModTime, o.Size, err = j.modTime(path); err != nil {
		return err
	}
	if o.Size <= from {
		return nil
	}
	if err := j.stage(o.Saved, func(f vfs.File) error { return j.copyInto(f, 0, path, from, o.Size-from) }); err != nil {
		return err
	}
	return j.do(o)
}

// splice takes ranges out of a file.
func (j *journal) splice(path, why string, ranges []span) error {
	rel, err := j.rel(path)
	if err != nil {
		return err
	}
	o := op{Op: "splice", Path: rel, Saved: j.file(path, "saved"), Staged: j.file(path, "new"), Ranges: ranges, Why: why}
	if o.ModTime, o.Size, err = j.modTime(path); err != nil {
		return err
	}
	err = j.stage(o.Saved, func(f vfs.File) error {
		at := int64(0)
		for _, r := range ranges {
			if err := j.copyInto(f, at, path, r.Position, r.Length); err != nil {
				return err
			}
			at += r.Length
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = j.stage(o.Staged, func(f vfs.File) error {
		at, from := int64(0), int64(0)
		for _, r := range append(ranges, span{Position: o.Size}) {
			if err := j.copyInto(f, at, path, from, r.Position-from); err != nil {
				return err
			}
			at, from = at+r.Position-from, r.Position+r.Length
		}
		return nil
	})
	if err != nil {
		return err
	}
	return j.do(o)
}

// patch changes bytes of a file in place.
func (j *journal) patch(path, why string, at int64, old, right []byte) error {
	rel, err := j.rel(path)
	if err != nil {
		return err
	}
	o := op{Op: "patch", Path: rel, From: at, Old: old, New: right, Why: why}
	if o.ModTime, _, err = j.modTime(path); err != nil {
		return err
	}
	return j.do(o)
}

// rehome gives a directory another name beside its own.
func (j *journal) rehome(from, to, why string) error {
	rel, err := j.rel(from)
	if err != nil {
		return err
	}
	return j.do(op{Op: "rename", Path: rel, To: filepath.Base(to), Why: why})
}

// rmdir removes an empty directory.
func (j *journal) rmdir(path, why string) error {
	rel, err := j.rel(path)
	if err != nil {
		return err
	}
	return j.do(op{Op: "rmdir", Path: rel, Why: why})
}

// aside takes a file away to the journal's directory, which is on another file system.
func (j *journal) aside(path, why string) error {
	rel, err := j.rel(path)
	if err != nil {
		return err
	}
	o := op{Op: "aside", Path: rel, Saved: j.file(path, "saved"), Why: why}
	if o.ModTime, o.Size, err = j.modTime(path); err != nil {
		return err
	}
	if err := j.stage(o.Saved, func(f vfs.File) error { return j.copyInto(f, 0, path, 0, o.Size) }); err != nil {
		return err
	}
	return j.do(o)
}
