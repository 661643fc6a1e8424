package savepoint

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/samsalog/samsa/vfs"
)

// Copies leave zeros out, in blocks, so that preallocated indexes take no room here and holes stay holes when they come back.
const (
	block     = 4096
	maxExtent = 1 << 20
)

// copier appends bytes of files to "data".
type copier struct {
	f   vfs.File
	pos int64
	buf []byte
}

// add copies the bytes of f from … to-1 and returns where they are, and their checksum.
func (c *copier) add(f vfs.File, from, to int64) (extents []extent, crc uint32, err error) {
	if c.buf == nil {
		c.buf = make([]byte, maxExtent)
	}
	for from < to {
		b := c.buf[:min(int64(len(c.buf)), to-from)]
		if err := readFull(f, b, from); err != nil {
			return nil, 0, err
		}
		for at := 0; at < len(b); {
			n := run(b[at:])
			if n == 0 {
				at += min(block, len(b)-at)
				continue
			}
			piece := b[at : at+n]
			if _, err := c.f.WriteAt(piece, c.pos); err != nil {
				return nil, 0, err
			}
			extents = append(extents, extent{from + int64(at), int64(n), c.pos})
			crc = crc32.Update(crc, castagnoli(), piece)
			c.pos, at = c.pos+int64(n), at+n
		}
		from += int64(len(b))
	}
	return extents, crc, nil
}

// run is how many bytes at the beginning of b are blocks that are not all zero.
func run(b []byte) int {
	n := 0
	for n < len(b) {
		end := min(n+block, len(b))
		if allZero(b[n:end]) {
			break
		}
		n = end
	}
	return n
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

func readFull(f vfs.File, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s: byte %d: %w", f.Name(), at+int64(n), err)
}

// tailCRC is the checksum of the last bytes before end.
func tailCRC(f vfs.File, end int64) (uint32, error) {
	b := make([]byte, min(end, tailBytes))
	if err := readFull(f, b, end-int64(len(b))); err != nil {
		return 0, err
	}
	return crc32.Checksum(b, castagnoli()), nil
}

// open opens a file for reading, hands it to do, and closes it.
func open(fsys vfs.FS, path string, do func(f vfs.File, size int64) error) error {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil {
		err = do(f, size)
	}
	return errors.Join(err, f.Close())
}

// buffers are what comparing and copying needs; they are used again and again.
type buffers struct{ want, have [maxExtent]byte }

// same reports whether the bytes of f behind the kept ones are those that were saved. data is the file of all copies.
func (l *line) same(f, data vfs.File, b *buffers) (bool, error) {
	next := 0
	for at := l.Keep; at < l.Size; {
		n := min(l.Size-at, maxExtent)
		clear(b.want[:n])
		for ; next < len(l.Extents) && l.Extents[next][0] < at+n; next++ {
			e := l.Extents[next]
			if e[0]+e[1] > at+n { // it reaches into the next piece, which then begins with it
				n = e[0] - at
				break
			}
			if err := readFull(data, b.want[e[0]-at:e[0]-at+e[1]], e[2]); err != nil {
				return false, err
			}
		}
		if err := readFull(f, b.have[:n], at); err != nil {
			return false, err
		}
		if !bytes.Equal(b.want[:n], b.have[:n]) {
			return false, nil
		}
		at += n
	}
	return true, nil
}

// whole checks the copies of a line against their checksum.
func (l *line) whole(data vfs.File, b *buffers) error {
	crc := uint32(0)
	for _, e := range l.Extents {
		if err := readFull(data, b.want[:e[1]], e[2]); err != nil {
			return err
		}
		crc = crc32.Update(crc, castagnoli(), b.want[:e[1]])
	}
	if crc != l.CRC {
		return fmt.Errorf("%w: the copy of %s has checksum %08x, should have %08x", ErrFormat, l.Path, crc, l.CRC)
	}
	return nil
}

// fill gives f, whose first Keep bytes are right, its other bytes and its length, durably.
func (l *line) fill(f, data vfs.File, b *buffers) error {
	if err := f.Truncate(l.Keep); err != nil {
		return err
	}
	for _, e := range l.Extents {
		if err := readFull(data, b.want[:e[1]], e[2]); err != nil {
			return err
		}
		if _, err := f.WriteAt(b.want[:e[1]], e[0]); err != nil {
			return err
		}
	}
	return errors.Join(f.Truncate(l.Size), f.Sync())
}
