package overlay

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// change journals a change of names or layers, then makes it. Called under mu.
func (f *FS) change(r record) error {
	if err := f.journal.append(r); err != nil {
		return err
	}
	return f.apply(r)
}

// apply makes a change that the journal has. Called under mu, or while the journal is read.
func (f *FS) apply(r record) error {
	dir, n, err := f.find(r.Path)
	if err != nil {
		return err
	}
	if dir == nil {
		return fmt.Errorf("%s cannot be changed", r.Path)
	}
	name := filepath.Base(r.Path)
	switch r.Op {
	case opFile:
		f.applyFile(dir, n, name, r)
	case opDir:
		if n != nil {
			f.drop(n)
		}
		dir.put(&node{parent: dir, name: name, dir: true, base: r.Base, mode: fs.FileMode(r.Mode)})
	case opGone:
		if n != nil {
			f.drop(n)
		}
		dir.hide(name)
	case opMove:
		return f.applyMove(dir, n, r)
	case opTime:
		if n == nil {
			return fs.ErrNotExist
		}
		n.modTime = time.Unix(0, r.Time)
	default:
		return fmt.Errorf("unknown change %q", r.Op)
	}
	return nil
}

// applyFile makes a file, or gives one that is there other layers.
func (f *FS) applyFile(dir, n *node, name string, r record) {
	if n == nil || n.dir {
		n = &node{parent: dir, name: name, base: r.Base, mode: fs.FileMode(r.Mode)}
		dir.put(n)
	}
	if n.blob != 0 && n.blob != r.Blob {
		f.dropped = append(f.dropped, n.blob)
	}
	n.base, n.limit, n.blob, n.modTime = r.Base, r.Limit, r.Blob, time.Time{}
	f.blobs = max(f.blobs, r.Blob)
}

func (f *FS) applyMove(dir, n *node, r record) error {
	to, old, err := f.find(r.To)
	if err != nil {
		return err
	}
	if n == nil || to == nil {
		return fs.ErrNotExist
	}
	if old != nil {
		f.drop(old)
		to.hide(old.name)
	}
	dir.hide(n.name)
	n.parent, n.name = to, filepath.Base(r.To)
	to.put(n)
	return nil
}

// drop gives up a node and all below it. What is open stays usable.
func (f *FS) drop(n *node) {
	for _, child := range n.children {
		f.drop(child)
	}
	n.removed = true
	if n.blob != 0 && n.opened.users == 0 {
		f.dropped = append(f.dropped, n.blob)
	}
}

// newBlob makes an empty blob.
func (f *FS) newBlob() (uint64, error) {
	number := f.blobs + 1
	b, err := f.o.Scratch.OpenFile(f.blobPath(number), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	f.blobs = number
	return number, b.Close()
}

// sync makes all changes of names and layers durable, then removes the blobs that are not needed any more (OVL-4).
func (f *FS) sync() error {
	f.mu.Lock()
	dropped := f.dropped
	f.dropped = nil
	f.mu.Unlock()
	if err := f.journal.sync(); err != nil {
		f.mu.Lock()
		f.dropped = append(f.dropped, dropped...)
		f.mu.Unlock()
		return err
	}
	for _, number := range dropped {
		_ = f.o.Scratch.Remove(f.blobPath(number)) // one that stays is found by the next Open
	}
	return nil
}
