package wire

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// inPipe serves h on in-memory connections in a bubble of its own. wake is a channel of that bubble.
func inPipe(t *testing.T, h func(ctx context.Context, r *Request, wake chan struct{}) Reply, f func(t *testing.T, dial func() *client, wake chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		l, wake := newPipeListener(), make(chan struct{})
		s := NewServer(Options{Handler: handlerFunc(func(ctx context.Context, r *Request) Reply { return h(ctx, r, wake) })})
		go s.Serve(l, testListener)
		f(t, func() *client { return &client{t, l.dial()} }, wake)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitEndsByTimeAndByDone(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, watchAfter, 2 * watchAfter, time.Minute} {
		inPipe(t, func(ctx context.Context, r *Request, wake chan struct{}) Reply {
			closed, later := make(chan struct{}), make(chan struct{})
			close(closed)
			from := time.Now()
			if r.Wait(ctx, wake, d) || time.Since(from) != d {
				t.Errorf("waited %v, want %v", time.Since(from), d)
			}
			from = time.Now()
			if !r.Wait(ctx, closed, d) || !r.Wait(ctx, closed, 0) || r.Wait(ctx, wake, 0) || r.Wait(ctx, wake, -1) || time.Since(from) != 0 {
				t.Error("what is done or has no time does not wait")
			}
			time.AfterFunc(d/2, func() { close(later) })
			if !r.Wait(ctx, later, d) || time.Since(from) != d/2 {
				t.Errorf("woken after %v, want %v", time.Since(from), d/2)
			}
			return plain(ctx, r)
		}, func(t *testing.T, dial func() *client, wake chan struct{}) {
			c := dial()
			defer c.Close()
			c.write(encode(kmsg.NewPtrFetchRequest(), 4, 1))
			b := make([]byte, 100)
			if _, err := c.Conn.Read(b); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWaitNoticesThatTheClientHasGone: a parked request ends with its connection, and its context with it.
func TestWaitNoticesThatTheClientHasGone(t *testing.T) {
	ended := make(chan time.Duration, 1)
	inPipe(t, func(ctx context.Context, r *Request, wake chan struct{}) Reply {
		from := time.Now()
		if r.Wait(ctx, nil, time.Hour) || ctx.Err() == nil {
			t.Error("wait went on without its client")
		}
		ended <- time.Since(from)
		return plain(ctx, r)
	}, func(t *testing.T, dial func() *client, wake chan struct{}) {
		c := dial()
		c.write(encode(kmsg.NewPtrJoinGroupRequest(), 4, 1))
		time.Sleep(time.Second)
		c.Close()
		if took := <-ended; took > 2*time.Second {
			t.Errorf("noticed after %v", took)
		}
	})
}

// TestWaitKeepsPipelinedBytes: what arrives while a request is parked, in pieces, is there afterwards.
func TestWaitKeepsPipelinedBytes(t *testing.T) {
	inPipe(t, func(ctx context.Context, r *Request, wake chan struct{}) Reply {
		if r.Key == 1 && !r.Wait(ctx, wake, time.Hour) {
			t.Error("wait ended early")
		}
		return plain(ctx, r)
	}, func(t *testing.T, dial func() *client, wake chan struct{}) {
		c := dial()
		defer c.Close()
		fetch := kmsg.NewPtrFetchRequest()
		c.write(encode(fetch, 4, 1))
		time.Sleep(time.Second)
		next := append(encode(kmsg.NewPtrHeartbeatRequest(), 4, 2), encode(kmsg.NewPtrMetadataRequest(), 12, 3)...)
		c.write(next[:3])
		time.Sleep(time.Second)
		c.write(next[3:30])
		time.Sleep(time.Second)
		close(wake)
		c.answer(fetch, 1)
		go c.Write(next[30:]) // the pipe holds nothing: the server may be writing now
		hb := kmsg.NewPtrHeartbeatRequest()
		hb.SetVersion(4)
		c.answer(hb, 2)
		md := kmsg.NewPtrMetadataRequest()
		md.SetVersion(12)
		c.answer(md, 3)
	})
}

// TestWaitSendsEarlierReplies: a reply that was held back to be sent with the next is not held while that one waits.
func TestWaitSendsEarlierReplies(t *testing.T) {
	inPipe(t, func(ctx context.Context, r *Request, wake chan struct{}) Reply {
		if r.Key == 1 {
			r.Wait(ctx, wake, time.Hour)
		}
		return plain(ctx, r)
	}, func(t *testing.T, dial func() *client, wake chan struct{}) {
		c := dial()
		defer c.Close()
		fetch := kmsg.NewPtrFetchRequest()
		c.write(append(encode(kmsg.NewPtrHeartbeatRequest(), 0, 1), encode(fetch, 4, 2)...))
		c.answer(kmsg.NewPtrHeartbeatRequest(), 1)
		close(wake)
		c.answer(fetch, 2)
	})
}

// TestWaitWithManyPipelined: a client that sends more than a buffer holds while its request is parked loses nothing.
func TestWaitWithManyPipelined(t *testing.T) {
	wake := make(chan struct{})
	_, addr := start(t, Options{Handler: handlerFunc(func(ctx context.Context, r *Request) Reply {
		if r.Key == 1 && !r.Wait(ctx, wake, time.Minute) {
			t.Error("wait ended early")
		}
		return plain(ctx, r)
	})})
	c := dial(t, addr)
	fetch := kmsg.NewPtrFetchRequest()
	c.write(encode(fetch, 4, 0))
	go func() {
		for i := range 1000 {
			c.Write(encode(kmsg.NewPtrHeartbeatRequest(), 0, int32(i+1)))
			if i == 500 {
				close(wake)
			}
		}
	}()
	c.answer(fetch, 0)
	for i := range 1000 {
		c.answer(kmsg.NewPtrHeartbeatRequest(), int32(i+1))
	}
}

// TestWaitWithoutConnection: handlers can be tested without a server.
func TestWaitWithoutConnection(t *testing.T) {
	r := &Request{}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r.Wait(ctx, done, time.Hour) {
		t.Error("completed")
	}
	close(done)
	if !r.Wait(ctx, done, time.Hour) {
		t.Error("not completed")
	}
}

var _ net.Conn = (*client)(nil)
