package wire

import (
	"context"
	"errors"
	"os"
	"time"
)

// watchAfter is how long a request is parked before its socket is watched. Most long polls end sooner, and a watch
// costs a goroutine and two deadlines; a client that died is noticed that much later.
const watchAfter = 50 * time.Millisecond

// Wait parks the request: it returns true when done is closed, and false when timeout is over, when ctx ends, or
// when the client has gone (the context given to Handle ends then). A timeout of 0 or less does not wait.
// Replies to earlier requests are sent first. Wait must be called on the goroutine that runs Handle.
//
// A client that shuts down only its sending side counts as gone: it gets its answer at once instead of later.
func (r *Request) Wait(ctx context.Context, done <-chan struct{}, timeout time.Duration) (completed bool) {
	select {
	case <-done:
		return true
	default:
	}
	if timeout <= 0 || ctx.Err() != nil {
		return false
	}
	if r.conn == nil {
		return waitFor(ctx, done, timeout) == woken
	}
	if r.conn.flush() != nil {
		r.conn.cancel()
		return false
	}
	first := min(timeout, watchAfter)
	if got := waitFor(ctx, done, first); got != expired || first == timeout {
		return got == woken
	}
	w := r.conn.in.watch()
	defer w.end()
	return waitFor(ctx, done, timeout-first) == woken
}

type waited int8

const (
	woken waited = iota
	expired
	cancelled
)

func waitFor(ctx context.Context, done <-chan struct{}, d time.Duration) waited {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return woken
	case <-t.C:
	case <-ctx.Done():
		return cancelled
	}
	return expired
}

// watcher reads ahead on a connection whose goroutine is parked, to notice its end. What it reads goes where the
// connection will look for it.
type watcher struct {
	in      *inbound
	stopped chan struct{}
}

// watch starts to read ahead into the free space of the buffer. When that is full, watching ends: a client with so
// many requests under way shows its end at the next write.
func (in *inbound) watch() *watcher {
	w := &watcher{in: in, stopped: make(chan struct{})}
	if in.err != nil {
		in.c.cancel()
		close(w.stopped)
		return w
	}
	in.c.nc.SetReadDeadline(time.Time{})
	go w.run()
	return w
}

func (w *watcher) run() {
	defer close(w.stopped)
	in := w.in
	for in.w < len(in.buf.b) {
		n, err := in.c.nc.Read(in.buf.b[in.w:])
		in.w += n
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			in.err = err
			in.c.cancel()
		}
		return
	}
}

// end stops the reading and waits for it; the buffer belongs to the connection's goroutine again.
func (w *watcher) end() {
	w.in.c.nc.SetReadDeadline(past)
	<-w.stopped
	w.in.deadline = time.Time{}
}
