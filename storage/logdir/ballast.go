package logdir

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/samsalog/samsa/vfs"
)

// ballastFile lies in the metadata directory and is there to be removed: on a full disk it makes room for the records
// that free the disk, such as the deletion of a topic.
const ballastFile = ".samsa-ballast"

// ballast is that file.
type ballast struct {
	fs   vfs.FS
	path string
	size int

	mu sync.Mutex
	// there: the file was seen or made, and not dropped since.
	there bool
}

// fill writes the file unless it is there or the disk has little more room than that.
func (b *ballast) fill() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size == 0 || b.there {
		return nil
	}
	if info, err := b.fs.Stat(b.path); err == nil && info.Size() >= int64(b.size) {
		b.there = true
		return nil
	}
	_, usable, err := b.fs.Usage(filepath.Dir(b.path))
	if err != nil || usable < 8*uint64(b.size) {
		return err
	}
	f, err := b.fs.OpenFile(b.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if err = errors.Join(writeRandom(f, b.size), f.Close()); err != nil {
		return errors.Join(err, b.fs.Remove(b.path))
	}
	b.there = true
	return nil
}

// writeRandom fills the first bytes of a file so that a file system that compresses must keep room for them too. It does
// so in pieces: most of what an idle broker has in memory would be the ballast.
func writeRandom(f vfs.File, bytes int) error {
	r := rand.NewPCG(1, 2)
	piece := make([]byte, 64<<10)
	for at := 0; at < bytes; at += len(piece) {
		for i := 0; i < len(piece); i += 8 {
			binary.LittleEndian.PutUint64(piece[i:], r.Uint64())
		}
		if _, err := f.WriteAt(piece[:min(len(piece), bytes-at)], int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// drop removes the file; true: there was one, so there is room now.
func (b *ballast) drop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.there = false
	return b.fs.Remove(b.path) == nil
}

// retry runs f again if it failed for want of room and dropping the ballast has made some.
func (b *ballast) retry(f func() error) error {
	err := f()
	if vfs.IsFull(err) && b.drop() {
		err = f()
	}
	return err
}

// ballastFS is a file system on which whoever needs room gets that of the ballast.
type ballastFS struct {
	vfs.FS
	b *ballast
}

func (x ballastFS) OpenFile(name string, flag int, perm fs.FileMode) (f vfs.File, err error) {
	err = x.b.retry(func() error { f, err = x.FS.OpenFile(name, flag, perm); return err })
	if err != nil {
		return nil, err
	}
	return ballastedFile{f, x.b}, nil
}

func (x ballastFS) MkdirAll(dir string, perm fs.FileMode) error {
	return x.b.retry(func() error { return x.FS.MkdirAll(dir, perm) })
}

func (x ballastFS) Rename(from, to string) error {
	return x.b.retry(func() error { return x.FS.Rename(from, to) })
}

type ballastedFile struct {
	vfs.File
	b *ballast
}

// WriteAt writes everything again when a part of it found no room: writing the same bytes twice changes nothing.
func (f ballastedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.b.retry(func() error { n, err = f.File.WriteAt(p, off); return err })
	return n, err
}
