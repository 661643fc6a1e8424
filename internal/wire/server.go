package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Server serves the Kafka protocol on any number of listeners.
type Server struct {
	o       Options
	schemas schemas
	pools   buffers
	stats   stats
	peers   complaints
	// slots holds one token per open connection when max.connections is set; nil otherwise.
	slots chan struct{}
	// base ends when the server stops: it is the parent of every connection's context.
	base context.Context
	stop context.CancelFunc
	// conns counts the goroutines of open connections.
	conns sync.WaitGroup
	mu    struct {
		sync.Mutex
		listeners map[net.Listener]struct{}
		open      map[*conn]struct{}
		perIP     map[string]int
		stopping  bool
	}
}

// ErrServerClosed is what Serve returns on a server that was shut down before.
var ErrServerClosed = errors.New("server is shut down")

// NewServer returns a server without listeners.
func NewServer(o Options) *Server {
	o.Limits = o.Limits.withDefaults()
	o.Send = o.Send.withDefaults()
	s := &Server{o: o, schemas: loadSchemas()}
	s.peers.log = o.Logger
	s.base, s.stop = context.WithCancel(context.Background())
	if n := o.Limits.MaxConnections; n > 0 {
		s.slots = make(chan struct{}, n)
	}
	s.mu.listeners = make(map[net.Listener]struct{})
	s.mu.open = make(map[*conn]struct{})
	s.mu.perIP = make(map[string]int)
	return s
}

// Serve accepts connections from l, which it takes over, until Shutdown (then it returns nil) or until l is closed
// by somebody else (then it returns that error). Errors of accepting that may pass, such as having no descriptor
// left, are waited out.
func (s *Server) Serve(l net.Listener, info *Listener) error {
	if !s.addListener(l) {
		l.Close()
		return ErrServerClosed
	}
	defer s.dropListener(l)
	defer l.Close()
	var pause backoff
	for {
		if !s.takeSlot(info) {
			return nil
		}
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.admit(nc, info)
			continue
		}
		s.freeSlot()
		if s.base.Err() != nil {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		wait := pause.next()
		s.peers.about(info.Name, "accept", "cannot accept connections, trying again", "listener", info.Name, "error", err, "pause", wait)
		s.sleep(wait)
	}
}

// backoff doubles from 5 ms to 1 s.
type backoff time.Duration

func (b *backoff) next() time.Duration {
	*b = min(max(2**b, backoff(5*time.Millisecond)), backoff(time.Second))
	return time.Duration(*b)
}

// sleep waits for d or for the server to stop.
func (s *Server) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.base.Done():
	}
}

// takeSlot waits until another connection is allowed; false when the server stops.
func (s *Server) takeSlot(info *Listener) bool {
	if s.slots == nil {
		return s.base.Err() == nil
	}
	select {
	case s.slots <- struct{}{}:
		return true
	default:
		s.peers.about(info.Name, "slots", "as many connections are open as may be, further ones wait", "listener", info.Name, "limit", cap(s.slots))
	}
	select {
	case s.slots <- struct{}{}:
		return true
	case <-s.base.Done():
		return false
	}
}

func (s *Server) freeSlot() {
	if s.slots != nil {
		<-s.slots
	}
}

// admit starts to serve a connection, or ends it when its address has too many.
func (s *Server) admit(nc net.Conn, info *Listener) {
	c := newConn(s, nc, info)
	s.mu.Lock()
	limit := s.limitFor(c.ip)
	full := limit > 0 && s.mu.perIP[c.ip] >= limit
	if s.mu.stopping || full {
		s.mu.Unlock()
		if full {
			s.stats.refused.Add(1)
			s.peers.about(c.ip, "per ip", "too many connections from one address, connection closed", "client", c.client.Addr, "limit", limit)
		}
		nc.Close()
		c.cancel()
		s.freeSlot()
		return
	}
	s.mu.perIP[c.ip]++
	s.mu.open[c] = struct{}{}
	s.conns.Add(1)
	s.mu.Unlock()
	s.stats.accepted.Add(1)
	s.stats.connections.Add(1)
	go c.serve()
}

func (s *Server) limitFor(ip string) int {
	if n, ok := s.o.Limits.PerIP[ip]; ok {
		return n
	}
	return s.o.Limits.MaxConnectionsPerIP
}

// release forgets a connection that has ended.
func (s *Server) release(c *conn) {
	s.mu.Lock()
	delete(s.mu.open, c)
	if s.mu.perIP[c.ip]--; s.mu.perIP[c.ip] <= 0 {
		delete(s.mu.perIP, c.ip)
	}
	s.mu.Unlock()
	s.stats.connections.Add(-1)
	s.freeSlot()
	s.conns.Done()
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.stopping {
		return false
	}
	s.mu.listeners[l] = struct{}{}
	return true
}

func (s *Server) dropListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.listeners, l)
}

// Shutdown stops accepting, ends idle connections, wakes parked requests, lets every request that is being handled
// be answered and then ends its connection. When ctx ends first, the rest is cut off and ctx's error returned; the
// handlers are waited for in any case.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.mu.stopping = true
	s.stop()
	for l := range s.mu.listeners {
		l.Close()
	}
	for c := range s.mu.open {
		c.wake()
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() {
		s.conns.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.mu.open {
		c.nc.Close()
	}
	s.mu.Unlock()
	<-done
	return ctx.Err()
}
