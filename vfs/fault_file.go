package vfs

import "errors"

// faultFile is an open file of a Fault. Its operations carry the name the file was opened with.
type faultFile struct {
	File
	fs *Fault
}

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(Op{Kind: OpRead, Path: f.Name()}); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// WriteAt writes nothing when it shall fail, or the beginning when the error is a [Partial].
func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	err := f.fs.ask(Op{Kind: OpWrite, Path: f.Name()})
	if err == nil {
		return f.File.WriteAt(p, off)
	}
	var part *Partial
	if !errors.As(err, &part) {
		return 0, err
	}
	n, writeErr := f.File.WriteAt(p[:min(part.Keep, len(p))], off)
	return n, errors.Join(err, writeErr)
}

func (f *faultFile) Size() (int64, error) {
	if err := f.fs.ask(Op{Kind: OpSize, Path: f.Name()}); err != nil {
		return 0, err
	}
	return f.File.Size()
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.fs.ask(Op{Kind: OpTruncate, Path: f.Name()}); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultFile) Sync() error {
	if err := f.fs.ask(Op{Kind: OpSync, Path: f.Name()}); err != nil {
		return err
	}
	return f.File.Sync()
}

// Close always closes the file below: a close that reports an error has closed too.
func (f *faultFile) Close() error {
	return errors.Join(f.fs.ask(Op{Kind: OpClose, Path: f.Name()}), f.File.Close())
}
