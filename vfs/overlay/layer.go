package overlay

import (
	"errors"
	"io"

	"github.com/samsalog/samsa/vfs"
)

// prepare makes sure that bytes from off on are in a blob. Called under mu; the file is open.
func (f *FS) prepare(n *node, off int64) error {
	c := &n.opened
	c.changing.Lock()
	defer c.changing.Unlock()
	l := c.now.Load()
	switch {
	case l.blob == nil:
		size, err := l.base.Size()
		if err != nil {
			return err
		}
		if off >= size { // what is written stands behind the base's bytes
			return f.relayer(n, size, nil)
		}
		return f.relayer(n, off, l)
	case off < l.limit:
		return f.relayer(n, off, l)
	}
	return nil
}

// truncate cuts or extends an open file. Called under mu.
func (f *FS) truncate(n *node, size int64) error {
	c := &n.opened
	c.changing.Lock()
	defer c.changing.Unlock()
	l := c.now.Load()
	now, err := l.size()
	switch {
	case err != nil || now == size:
		return err
	case l.blob == nil && size > now:
		if err := f.relayer(n, now, nil); err != nil {
			return err
		}
	case l.blob == nil || size < l.limit:
		return f.relayer(n, size, nil)
	}
	l = c.now.Load()
	return l.blob.Truncate(size - l.limit)
}

// relayer gives a file a new blob from limit on, with the bytes that from has there; nil: an empty one. Bytes that may
// be durable already are durable in the new blob before the journal leads to it, so that a write that was not synced
// costs nothing that was (OVL-2).
func (f *FS) relayer(n *node, limit int64, from *layers) error {
	number, err := f.newBlob()
	if err != nil {
		return err
	}
	l, err := f.openLayers(n.base, limit, number)
	if err != nil {
		return err
	}
	if from != nil {
		err = f.copyTail(l.blob, from, limit)
	}
	if err == nil && !n.removed {
		err = f.change(record{Op: opFile, Path: n.path(), Base: n.base, Limit: limit, Blob: number, Mode: uint32(n.mode.Perm())})
	} else if err == nil {
		f.dropped = append(f.dropped, n.blob)
		n.limit, n.blob = limit, number
	}
	if err != nil {
		f.dropped = append(f.dropped, number)
		return errors.Join(err, l.close())
	}
	old := n.opened.now.Swap(l)
	n.opened.old = append(n.opened.old, old.base, old.blob)
	n.opened.unlisted.Store(true)
	return nil
}

func (l *layers) close() error {
	var errs []error
	for _, file := range []vfs.File{l.base, l.blob} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// copyBytes is how much is copied at once.
const copyBytes = 256 << 10

// copyTail copies what a file has from off on into a new blob, durably.
func (f *FS) copyTail(blob vfs.File, from *layers, off int64) error {
	buf := make([]byte, copyBytes)
	for at := int64(0); ; {
		n, err := from.readAt(buf, off+at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			break
		}
		if _, err := blob.WriteAt(buf[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	if err := blob.Sync(); err != nil {
		return err
	}
	return f.o.Scratch.SyncDir(f.blobDir())
}
