package logfile

import (
	"errors"
	"io"

	"github.com/samsalog/samsa/vfs"
)

// window is a piece of a file in memory.
type window struct {
	f   vfs.File
	end int64
	// have holds the bytes from haveAt on, in buf.
	have   []byte
	haveAt int64
	buf    []byte
	// done is up to where pages have been given back.
	done int64
}

// step is how much is read at a time; batches above it are read by themselves.
const step = 64 << 10

// read returns n bytes from position at; they are lent until the next call.
func (w *window) read(at int64, n int) ([]byte, error) {
	if from := at - w.haveAt; from >= 0 && from+int64(n) <= int64(len(w.have)) {
		return w.have[from : from+int64(n) : from+int64(n)], nil
	}
	want := max(n, int(min(step, w.end-at)))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf = w.buf[:want]
	got, err := w.f.ReadAt(w.buf, at)
	if got < n {
		w.have = nil
		return nil, errShrunk(at, n, err)
	}
	w.have, w.haveAt = w.buf[:got], at
	w.giveBack(at)
	return w.have[:n:n], nil
}

// forget drops what is in memory: the file may have changed.
func (w *window) forget() { w.have, w.haveAt = nil, 0 }

// giveBack returns pages that were read, up to position at, to the system.
func (w *window) giveBack(at int64) {
	if f, ok := w.f.(*File); ok && at-w.done >= giveBackStep {
		f.GiveBack(w.done, at)
		w.done = at
	}
}

// giveBackStep keeps the system calls few.
const giveBackStep = 4 << 20

// shrunk is the error of a file that became shorter while it was read.
func shrunk(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
