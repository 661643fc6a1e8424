package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// sizeBytes is the length of a frame's size prefix.
const sizeBytes = 4

// firstBufferBytes is what a connection may hold before anything has arrived to justify it (WIRE-3).
const firstBufferBytes = 16 << 10

// reviewEvery is how often a connection's buffer is held against what its requests needed since; also how long an
// idle connection keeps a buffer larger than the smallest.
const reviewEvery = 10 * time.Second

// errIdle ends a connection on which nothing moved for connections.max.idle.ms.
var errIdle = errors.New("idle")

// frameSizeError is a size prefix that is refused.
type frameSizeError struct {
	size  int32
	limit int
}

func (e *frameSizeError) Error() string {
	if e.size >= 0 && int(e.size) < fixedHeaderBytes {
		return fmt.Sprintf("frame of %d bytes is shorter than a request header", e.size)
	}
	return fmt.Sprintf("frame of %d bytes, allowed are %d", e.size, e.limit)
}

// inbound cuts a connection's bytes into frames. Frames are returned in place: buf.b[r:w] is what has arrived and
// was not returned yet, and the last frame returned stays where it is until the next call of next (WIRE-4).
type inbound struct {
	c    *conn
	buf  *buffer
	r, w int
	// peak is the most bytes that were needed at once since reviewed.
	peak     int
	reviewed time.Time
	// deadline is the read deadline set on the connection; zero: unknown, set again before the next read.
	deadline time.Time
	// moved is when the last bytes arrived, as of the last deadline.
	moved time.Time
	// err is why no more bytes will come.
	err error
}

// next returns the next frame without its size. Pending replies are flushed before it blocks. io.EOF means that the
// client closed between frames, io.ErrUnexpectedEOF inside one.
func (in *inbound) next() ([]byte, error) {
	for {
		frame, need, err := in.buffered()
		if frame != nil || err != nil {
			return frame, err
		}
		if err := in.c.flush(); err != nil {
			return nil, err
		}
		in.makeRoom(need)
		if err := in.fill(); err != nil {
			if errors.Is(err, io.EOF) && in.w > in.r {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// buffered returns the next frame if it has arrived whole, or how many bytes from r on are needed for it.
func (in *inbound) buffered() (frame []byte, need int, err error) {
	have := in.w - in.r
	if have < sizeBytes {
		return nil, sizeBytes, nil
	}
	size := int32(binary.BigEndian.Uint32(in.buf.b[in.r:]))
	if limit := in.c.s.o.Limits.MaxRequestBytes; size < fixedHeaderBytes || int(size) > limit {
		return nil, 0, &frameSizeError{size, limit}
	}
	need = sizeBytes + int(size)
	in.peak = max(in.peak, need)
	if have < need {
		return nil, need, nil
	}
	frame = in.buf.b[in.r+sizeBytes : in.r+need : in.r+need]
	in.r += need
	return frame, need, nil
}

// pipelined reports whether another whole frame has arrived already.
func (in *inbound) pipelined() bool {
	have := in.w - in.r
	return have >= sizeBytes && have-sizeBytes >= int(binary.BigEndian.Uint32(in.buf.b[in.r:]))
}

// makeRoom makes space to read into, on the way to need bytes from r on: it moves what has arrived to the front, or
// to a buffer up to four times its size.
func (in *inbound) makeRoom(need int) {
	have := in.w - in.r
	switch {
	case in.buf == nil:
		in.buf = in.c.s.pools.get(classes[0])
		in.r, in.w = 0, 0
	case have == 0:
		in.r, in.w = 0, 0
	case need <= len(in.buf.b)-in.r && in.w < len(in.buf.b):
	case need <= len(in.buf.b):
		copy(in.buf.b, in.buf.b[in.r:in.w])
		in.r, in.w = 0, have
	case have == len(in.buf.b) || in.w == len(in.buf.b) && in.r == 0 || have >= classes[0]/2:
		in.swap(min(need, max(firstBufferBytes, 4*(have-around))))
	case in.r > 0:
		copy(in.buf.b, in.buf.b[in.r:in.w])
		in.r, in.w = 0, have
	}
}

// swap continues in another pooled buffer of at least n bytes.
func (in *inbound) swap(n int) {
	b := in.c.s.pools.get(n)
	have := copy(b.b, in.buf.b[in.r:in.w])
	in.c.s.pools.put(in.buf)
	in.buf, in.r, in.w = b, 0, have
}

// fill reads what is there into the free space, waiting for at least one byte.
func (in *inbound) fill() error {
	if in.err != nil {
		return in.err
	}
	in.setDeadline(time.Now())
	for {
		n, err := in.c.nc.Read(in.buf.b[in.w:])
		in.w += n
		switch {
		case n > 0:
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				in.err = err
			}
			return nil
		case in.c.s.base.Err() != nil:
			return ErrServerClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := in.quiet(time.Now()); err != nil {
				return err
			}
		case err != nil:
			in.err = err
			return err
		}
	}
}

// setDeadline moves the read deadline before a read that follows on movement. It is moved only when an eighth of its
// time is over, since moving costs as much as parsing a header; so a connection may count as idle that much early.
func (in *inbound) setDeadline(now time.Time) {
	wait := in.firstWait()
	if !in.deadline.IsZero() && now.Sub(in.moved) < wait/8 {
		return
	}
	in.moved = now
	in.review(now)
	in.arm(now.Add(wait))
}

// firstWait is how long to wait for bytes before the buffer is given back or the connection is idle.
func (in *inbound) firstWait() time.Duration {
	if idle := in.c.s.o.Limits.IdleTimeout; idle > 0 && idle < reviewEvery {
		return idle
	}
	return reviewEvery
}

func (in *inbound) arm(at time.Time) {
	in.deadline = at
	in.c.nc.SetReadDeadline(at)
	if in.c.s.base.Err() != nil {
		in.c.nc.SetReadDeadline(past)
	}
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// review gives a buffer back that is far larger than what was needed lately.
func (in *inbound) review(now time.Time) {
	if now.Sub(in.reviewed) < reviewEvery/2 {
		return
	}
	if need := max(in.peak, in.w-in.r); in.buf.class != 0 && 4*need <= len(in.buf.b) {
		in.swap(max(need, classes[0]))
	}
	in.peak, in.reviewed = 0, now
}

// quiet is called when no byte came until the deadline.
func (in *inbound) quiet(now time.Time) error {
	idle := in.c.s.o.Limits.IdleTimeout
	if idle > 0 && now.Sub(in.moved) >= idle {
		return errIdle
	}
	if in.r == in.w && in.buf.class != 0 {
		in.swap(classes[0])
		in.peak = 0
	}
	if idle > 0 {
		in.arm(in.moved.Add(idle))
	} else {
		in.arm(now.Add(24 * time.Hour))
	}
	return nil
}

// close gives the buffer back.
func (in *inbound) close() {
	in.c.s.pools.put(in.buf)
	in.buf = nil
}
