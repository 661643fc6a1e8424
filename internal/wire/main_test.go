package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerFunc serves keys 0, 1, 3, 11, 12, 18 and 19 in all versions that kmsg knows, except that Produce begins at 3
// and ApiVersions ends at 5.
type handlerFunc func(ctx context.Context, r *Request) Reply

func (f handlerFunc) Range(_ *Listener, key int16) (int16, int16, bool) {
	switch key {
	case 0:
		return 3, 13, true
	case 1:
		return 4, 18, true
	case 3:
		return 0, 13, true
	case 11:
		return 0, 9, true
	case 12:
		return 0, 4, true
	case 18:
		return 0, 5, true
	case 19:
		return 2, 7, true
	}
	return 0, 0, false
}

func (f handlerFunc) Handle(ctx context.Context, r *Request) Reply { return f(ctx, r) }

// plain answers with an empty response of the request's kind.
func plain(_ context.Context, r *Request) Reply { return Reply{Body: r.Body.ResponseKind()} }

// logBuffer keeps log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

var testListener = &Listener{Name: "PLAINTEXT", AdvertisedHost: "localhost", AdvertisedPort: 9092}

// start serves on a loopback port until the test ends.
func start(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l, testListener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s, l.Addr().String()
}

// pipeListener hands out in-memory connections.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (l *pipeListener) dial() net.Conn {
	a, b := net.Pipe()
	l.conns <- b
	return a
}

// client is a raw client.
type client struct {
	t testing.TB
	net.Conn
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t, c}
}

// encode frames a request.
func encode(req kmsg.Request, version int16, correlation int32) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("tester")).AppendRequest(nil, req, correlation)
}

// raw frames a header and body given in bytes.
func raw(key, version int16, flexible bool, body ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = append(b, 0, 0, 0, 1, 0, 3, 'a', 'n', 's')
	if flexible {
		b = append(b, 0)
	}
	return sized(append(b, body...))
}

func sized(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// read reads one frame.
func (c *client) read() ([]byte, error) {
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

// ask sends a request and reads its answer.
func (c *client) ask(req kmsg.Request, version int16, correlation int32) kmsg.Response {
	c.t.Helper()
	c.write(encode(req, version, correlation))
	return c.answer(req, correlation)
}

// answer reads one frame and decodes it as the answer to req.
func (c *client) answer(req kmsg.Request, correlation int32) kmsg.Response {
	c.t.Helper()
	b, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := decodeAnswer(b, req, correlation)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

func decodeAnswer(b []byte, req kmsg.Request, correlation int32) (kmsg.Response, error) {
	if len(b) < 4 {
		return nil, errors.New("short answer")
	}
	if got := int32(binary.BigEndian.Uint32(b)); got != correlation {
		return nil, fmt.Errorf("correlation id %d, want %d", got, correlation)
	}
	b = b[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && resp.Key() != 18 {
		if len(b) == 0 || b[0] != 0 {
			return nil, fmt.Errorf("flexible header begins with %x", b)
		}
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		return nil, err
	}
	return resp, nil
}

// closed reports whether the server ended the connection, rather than answering.
func (c *client) closed() bool {
	c.t.Helper()
	b, err := c.read()
	if err == nil {
		c.t.Errorf("answered %x", b)
		return false
	}
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}
