package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestRepliesInOrder: pipelined requests are answered in order (WIRE-1), one at a time (WIRE-2), however they arrive.
func TestRepliesInOrder(t *testing.T) {
	var running atomic.Int32
	_, addr := start(t, Options{Handler: handlerFunc(func(ctx context.Context, r *Request) Reply {
		if running.Add(1) != 1 {
			t.Error("two requests of a connection at once")
		}
		defer running.Add(-1)
		if r.ClientID != "tester" || r.Client.Host != "/127.0.0.1" || r.Listener != testListener {
			t.Errorf("request %+v", r)
		}
		return plain(ctx, r)
	})})
	c := dial(t, addr)
	req := kmsg.NewPtrMetadataRequest()
	var all []byte
	for i := range 300 {
		all = append(all, encode(req, int16(i%14), int32(i))...)
	}
	go func() {
		for len(all) > 0 { // in pieces of odd sizes
			n := min(len(all), 1+len(all)%97)
			c.Write(all[:n])
			all = all[n:]
		}
	}()
	for i := range 300 {
		req.SetVersion(int16(i % 14))
		c.answer(req, int32(i))
	}
}

// TestLargeRequest: a frame larger than any pooled buffer arrives whole, and its bytes stay in place meanwhile.
func TestLargeRequest(t *testing.T) {
	records := bytes.Repeat([]byte("0123456789abcdef"), 6<<20/16)
	_, addr := start(t, Options{Handler: handlerFunc(func(ctx context.Context, r *Request) Reply {
		if got := r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records; !bytes.Equal(got, records) {
			t.Error("records differ")
		}
		return plain(ctx, r)
	})})
	c := dial(t, addr)
	req := kmsg.NewPtrProduceRequest()
	topic := kmsg.NewProduceRequestTopic()
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	for i := range 3 {
		c.write(encode(req, 9, int32(i)))
		c.answer(req, int32(i))
	}
}

// TestClaimedSizeTakesNoMemory: a frame size alone allocates nothing (WIRE-3).
func TestClaimedSizeTakesNoMemory(t *testing.T) {
	in := &inbound{c: &conn{s: NewServer(Options{})}}
	in.makeRoom(4)
	in.w = copy(in.buf.b, []byte{0x06, 0x40, 0, 0, 0, 3})
	for _, want := range append(classes[:], 16<<20) {
		if len(in.buf.b) != want || want > max(firstBufferBytes, 4*in.w+around) {
			t.Errorf("buffer of %d bytes for %d that arrived, want %d", len(in.buf.b), in.w, want)
		}
		_, need, err := in.buffered()
		if err != nil || need != 104857604 {
			t.Fatalf("need %d, %v", need, err)
		}
		in.w = len(in.buf.b)
		in.makeRoom(need)
	}
}

func TestNoneAndClose(t *testing.T) {
	_, addr := start(t, Options{Handler: handlerFunc(func(ctx context.Context, r *Request) Reply {
		switch r.CorrelationID {
		case 1:
			return Reply{None: true}
		case 3:
			return Reply{Close: true}
		}
		return plain(ctx, r)
	})})
	c := dial(t, addr)
	req := kmsg.NewPtrHeartbeatRequest()
	var all []byte
	for i := range 5 {
		all = append(all, encode(req, 4, int32(i))...)
	}
	c.write(all)
	c.answer(req, 0)
	c.answer(req, 2)
	if !c.closed() {
		t.Error("open after Close")
	}
}

// TestPanicEndsOneConnection: a bug in a handler is logged with its stack and costs one connection.
func TestPanicEndsOneConnection(t *testing.T) {
	log := &logBuffer{}
	_, addr := start(t, Options{Logger: log.logger(), Handler: handlerFunc(func(ctx context.Context, r *Request) Reply {
		if r.Key == 12 {
			panic("boo")
		}
		return plain(ctx, r)
	})})
	c := dial(t, addr)
	c.write(encode(kmsg.NewPtrHeartbeatRequest(), 4, 1))
	if !c.closed() {
		t.Error("open after a panic")
	}
	if !strings.Contains(log.String(), "boo") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("log: %s", log)
	}
	c = dial(t, addr)
	c.ask(kmsg.NewPtrMetadataRequest(), 4, 1)
}

func TestIdleConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		s := NewServer(Options{Handler: handlerFunc(plain), Limits: Limits{IdleTimeout: time.Minute}})
		go s.Serve(l, testListener)
		nc := l.dial()
		c := &client{t, nc}
		for range 3 { // bytes that move keep it open
			time.Sleep(50 * time.Second)
			c.ask(kmsg.NewPtrMetadataRequest(), 4, 1)
		}
		from := time.Now()
		nc.SetReadDeadline(time.Time{})
		if _, err := nc.Read(make([]byte, 1)); err == nil {
			t.Error("read something")
		}
		if took := time.Since(from); took < 50*time.Second || took > 61*time.Second {
			t.Errorf("closed after %v", took)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestIdleConnectionsHoldLittle: after a large request an idle connection gives its buffer back.
func TestIdleConnectionsHoldLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		defer a.Close()
		s := NewServer(Options{Handler: handlerFunc(plain)})
		c := newConn(s, b, testListener)
		req := kmsg.NewPtrHeartbeatRequest()
		req.MemberID = strings.Repeat("m", 30000)
		got := make(chan [2]int)
		go func() {
			frame, err := c.in.next()
			if err != nil {
				t.Error(err)
			}
			got <- [2]int{len(frame), len(c.in.buf.b)}
			c.in.next()
			close(got)
		}()
		a.Write(encode(req, 4, 1))
		if n := <-got; n[0] < 30000 || n[1] < 30000 {
			t.Errorf("frame of %d, buffer of %d", n[0], n[1])
		}
		time.Sleep(2 * reviewEvery)
		synctest.Wait()
		a.Close()
		<-got
		if len(c.in.buf.b) != classes[0] {
			t.Errorf("idle connection holds %d bytes", len(c.in.buf.b))
		}
		c.close()
		s.stop()
	})
}

func TestMaxConnections(t *testing.T) {
	log := &logBuffer{}
	s, addr := start(t, Options{Handler: handlerFunc(plain), Logger: log.logger(), Limits: Limits{MaxConnections: 2}})
	a, b := dial(t, addr), dial(t, addr)
	req := kmsg.NewPtrMetadataRequest()
	a.ask(req, 4, 1)
	b.ask(req, 4, 1)
	c := dial(t, addr) // waits in the backlog
	c.write(encode(req, 4, 1))
	if got := s.Stats().Connections; got != 2 {
		t.Errorf("%d connections", got)
	}
	a.Close()
	c.answer(req, 1)
	if got := strings.Count(log.String(), "further ones wait"); got != 1 { // one line says so
		t.Errorf("said %d times: %s", got, log)
	}
}

func TestMaxConnectionsPerIP(t *testing.T) {
	log := &logBuffer{}
	s, addr := start(t, Options{Handler: handlerFunc(plain), Logger: log.logger(), Limits: Limits{MaxConnectionsPerIP: 5, PerIP: map[string]int{"127.0.0.1": 1}}})
	a := dial(t, addr)
	a.ask(kmsg.NewPtrMetadataRequest(), 4, 1)
	if b := dial(t, addr); !b.closed() {
		t.Error("second connection is served")
	}
	if got := s.Stats().Refused; got != 1 {
		t.Errorf("%d refused", got)
	}
	if !strings.Contains(log.String(), "too many connections from one address") {
		t.Errorf("log: %s", log)
	}
}

// failingListener fails to accept n times, as when descriptors are used up.
type failingListener struct {
	*pipeListener
	left int
	err  error
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.left > 0 {
		l.left--
		return nil, l.err
	}
	return l.pipeListener.Accept()
}

// TestR29AcceptBacksOff: out of descriptors the listener waits, says so once, and serves again afterwards.
func TestR29AcceptBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logBuffer{}
		l := &failingListener{newPipeListener(), 12, &net.OpError{Op: "accept", Err: syscall.EMFILE}}
		s := NewServer(Options{Handler: handlerFunc(plain), Logger: log.logger()})
		from := time.Now()
		done := make(chan error)
		go func() { done <- s.Serve(l, testListener) }()
		c := &client{t, l.dial()}
		// 5+10+20+…+640 ms, then four pauses of a second.
		if took := time.Since(from); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("accepted after %v", took)
		}
		c.ask(kmsg.NewPtrMetadataRequest(), 4, 1)
		if n := strings.Count(log.String(), "cannot accept"); n != 1 {
			t.Errorf("%d log lines: %s", n, log)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestShutdown: what is being handled is answered, parked requests are woken, idle connections end, nothing new is
// served.
func TestShutdown(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(Options{Handler: handlerFunc(func(ctx context.Context, r *Request) Reply {
		entered <- struct{}{}
		if r.Key == 1 {
			if r.Wait(ctx, nil, time.Hour) {
				t.Error("wait completed")
			}
		} else {
			<-release
		}
		return plain(ctx, r)
	})})
	served := make(chan error)
	go func() { served <- s.Serve(l, testListener) }()
	addr := l.Addr().String()
	busy, parked, idle := dial(t, addr), dial(t, addr), dial(t, addr)
	busy.write(encode(kmsg.NewPtrMetadataRequest(), 4, 1))
	parked.write(encode(kmsg.NewPtrFetchRequest(), 4, 1))
	<-entered
	<-entered
	done := make(chan error)
	go func() { done <- s.Shutdown(context.Background()) }()
	fetch, metadata := kmsg.NewPtrFetchRequest(), kmsg.NewPtrMetadataRequest()
	fetch.SetVersion(4)
	metadata.SetVersion(4)
	parked.answer(fetch, 1)
	if !parked.closed() || !idle.closed() {
		t.Error("connections stay open")
	}
	close(release)
	busy.answer(metadata, 1)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := s.Serve(newPipeListener(), testListener); !errors.Is(err, ErrServerClosed) {
		t.Errorf("serve after shutdown: %v", err)
	}
	if got := s.Stats().Connections; got != 0 {
		t.Errorf("%d connections left", got)
	}
}

// TestShutdownCutsOff: a client that takes no reply does not hold the server beyond ctx.
func TestShutdownCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		s := NewServer(Options{Handler: handlerFunc(plain)})
		go s.Serve(l, testListener)
		nc := l.dial()
		nc.Write(encode(kmsg.NewPtrMetadataRequest(), 4, 1)) // and never reads
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v", err)
		}
	})
}

func TestStatsCountKeysAndVersions(t *testing.T) {
	var seen atomic.Int32
	s, addr := start(t, Options{Handler: handlerFunc(plain), Observe: func(o Observation) {
		if o.Key == 3 && o.RequestBytes > 0 && o.ReplyBytes > 0 && o.Listener == testListener {
			seen.Add(1)
		}
	}})
	c := dial(t, addr)
	for i := range 6 {
		c.ask(kmsg.NewPtrMetadataRequest(), int16(i/2), int32(i))
	}
	c.ask(kmsg.NewPtrHeartbeatRequest(), 0, 7)
	want := []RequestCount{{3, 0, 2}, {3, 1, 2}, {3, 2, 2}, {12, 0, 1}}
	got := s.Stats().Requests
	if len(got) != len(want) {
		t.Fatalf("counts %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("counts %v", got)
		}
	}
	if seen.Load() != 6 {
		t.Errorf("observed %d", seen.Load())
	}
}

// TestCoalescing: replies to small requests that arrived together leave together.
func TestCoalescing(t *testing.T) {
	a, b := net.Pipe()
	l := newPipeListener()
	s := NewServer(Options{Handler: handlerFunc(plain)})
	go s.Serve(l, testListener)
	l.conns <- b
	var all []byte
	for i := range 3 {
		all = append(all, encode(kmsg.NewPtrHeartbeatRequest(), 0, int32(i))...)
	}
	go a.Write(all)
	buf := make([]byte, 1<<10)
	n, err := a.Read(buf) // one Write of the pipe is one Read
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 * (4 + int(binary.BigEndian.Uint32(buf))); n != want {
		t.Errorf("%d bytes in one write, want %d", n, want)
	}
	a.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestGoneIsToldOnceOfEachClient: with the Client that its requests carried.
func TestGoneIsToldOnceOfEachClient(t *testing.T) {
	gone, seen := make(chan *Client, 4), make(chan *Client, 4)
	_, addr := start(t, Options{Gone: func(c *Client) { gone <- c }, Handler: handlerFunc(func(ctx context.Context, r *Request) Reply {
		seen <- r.Client
		return plain(ctx, r)
	})})
	for range 2 {
		c := dial(t, addr)
		req := kmsg.NewPtrHeartbeatRequest()
		c.write(encode(req, 4, 1))
		c.answer(req, 1)
		c.Close()
		if had, told := <-seen, <-gone; had != told {
			t.Errorf("told of %v, want %v", told, had)
		}
	}
	if len(gone) != 0 {
		t.Error("told twice")
	}
}
