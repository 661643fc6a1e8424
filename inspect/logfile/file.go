package logfile

import (
	"os"

	"github.com/samsalog/samsa/vfs"
)

// File is a file that is read once, from start to end. What it brings into the page cache is given back, and what was in
// there before stays: looking at a live broker's files costs the broker nothing but the disk's time.
type File struct {
	vfs.File
	// SizeInBytes is the length when the file was opened.
	SizeInBytes int64
	cache       cache
}

// Open opens path for reading.
func Open(fsys vfs.FS, path string) (*File, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		_ = f.Close() // it was only opened
		return nil, err
	}
	file := &File{File: f, SizeInBytes: size}
	file.cache.open(f, size)
	return file, nil
}

// ReadAt is io.ReaderAt's.
func (f *File) ReadAt(b []byte, at int64) (int, error) {
	to := at + int64(len(b))
	f.cache.begin(at, to)
	n := f.cache.copyAt(b, at)
	if n == len(b) {
		f.cache.goOn(to)
		return n, nil
	}
	rest, err := f.cache.readAt(f.File, b[n:], at+int64(n))
	return n + rest, err
}

// GiveBack returns the pages of the bytes from … to-1 that were not in the page cache before.
func (f *File) GiveBack(from, to int64) { f.cache.giveBack(from, to) }

// Close gives everything back and closes the file.
func (f *File) Close() error {
	f.GiveBack(0, f.SizeInBytes)
	return f.File.Close()
}
