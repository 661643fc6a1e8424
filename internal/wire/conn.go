package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is one connection. All fields belong to its goroutine, except where said.
type conn struct {
	s        *Server
	nc       net.Conn // its deadlines and Close are used by other goroutines too
	listener *Listener
	client   Client
	ip       string // the address alone, for limits and log lines
	loopback bool   // the client is on this machine
	ctx      context.Context
	cancel   context.CancelFunc // ends ctx; safe anywhere
	in       inbound
	out      outbound
	// clientID is that of the last request.
	clientID string
	// request is the one that is handled, produce its body if it is a Produce.
	request Request
	produce kmsg.ProduceRequest
}

func newConn(s *Server, nc net.Conn, info *Listener) *conn {
	addr := nc.RemoteAddr().String()
	ip, _, err := net.SplitHostPort(addr)
	if err != nil {
		ip = addr
	}
	c := &conn{s: s, nc: nc, listener: info, ip: ip}
	c.client = Client{Host: "/" + ip, Addr: addr}
	c.loopback = net.ParseIP(ip).IsLoopback()
	c.in.c, c.out.c = c, c
	c.ctx, c.cancel = context.WithCancel(s.base)
	return c
}

// tune sets what Apache Kafka sets on accepted sockets.
func (c *conn) tune() {
	tcp, ok := c.nc.(*net.TCPConn)
	if !ok {
		return
	}
	// TCP_NODELAY and SO_KEEPALIVE are on by default in package net.
	if n := c.s.o.Limits.SendBufferBytes; n > 0 {
		tcp.SetWriteBuffer(n)
	}
	if n := c.s.o.Limits.ReceiveBufferBytes; n > 0 {
		tcp.SetReadBuffer(n)
	}
}

// serve handles requests until the connection ends.
func (c *conn) serve() {
	defer c.s.release(c)
	defer c.close()
	c.tune()
	for {
		frame, err := c.in.next()
		if err != nil {
			c.ended(err)
			return
		}
		if !c.one(frame, time.Now()) {
			return
		}
	}
}

// close sends what is pending, ends the connection and gives its buffers back.
func (c *conn) close() {
	c.flush()
	c.cancel()
	c.nc.Close()
	c.in.close()
	c.out.close()
	if c.s.o.Gone != nil {
		c.s.o.Gone(&c.client)
	}
}

// wake interrupts a read, so that the connection's goroutine sees that the server stops.
func (c *conn) wake() { c.nc.SetReadDeadline(past) }

// ended logs why no further request comes, where that is worth a line.
func (c *conn) ended(err error) {
	var size *frameSizeError
	switch {
	case errors.As(err, &size):
		c.refuse("frame", "frame size refused, connection closed", "reason", size.Error(), "hint", sniff(size.size))
	case errors.Is(err, io.ErrUnexpectedEOF):
		c.debug("client closed inside a request")
	case errors.Is(err, errIdle):
		c.debug("idle connection closed")
	}
}

func (c *conn) debug(msg string) {
	if c.s.o.Logger != nil {
		c.s.o.Logger.Debug(msg, "client", c.client.Addr, "listener", c.listener.Name, "client_id", c.clientID)
	}
}

// refuse logs that the connection is ended for what it sent (WIRE-6).
func (c *conn) refuse(kind, msg string, attrs ...any) {
	c.s.stats.invalid.Add(1)
	attrs = append([]any{"client", c.client.Addr, "listener", c.listener.Name}, attrs...)
	if c.client.SoftwareName != "" {
		attrs = append(attrs, "software", c.client.SoftwareName+" "+c.client.SoftwareVersion)
	}
	c.s.peers.about(c.ip, kind, msg, attrs...)
}

// sniff names the protocol that a refused frame size is the beginning of, or "".
func sniff(size int32) string {
	b := [4]byte{byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}
	switch string(b[:]) {
	case "GET ", "POST", "PUT ", "HEAD", "OPTI", "PRI ", "DELE", "PATC", "CONN":
		return "this is HTTP; the listener speaks the Kafka protocol"
	}
	if b[0] == 0x16 && b[1] == 3 {
		return "this is a TLS handshake; the listener is plaintext"
	}
	return ""
}

// one handles the request in frame; false ends the connection.
func (c *conn) one(frame []byte, now time.Time) bool {
	h, err := parseFixed(frame)
	if err != nil {
		c.refuse("frame", "request refused, connection closed", "reason", err)
		return false
	}
	lo, hi, served := c.s.o.Handler.Range(c.listener, h.key)
	within := served && h.version >= lo && h.version <= hi
	body, err := h.parseRest(frame, c.s.schemas.flexible(h.key, h.version), c.clientID)
	if err == nil {
		c.clientID = h.clientID
	}
	switch {
	case err == nil && h.key == apiVersionsKey && served && !within:
		return c.out.versionsRefused(h, lo, hi)
	case !within:
		c.refuseVersion(h, lo, hi, served)
		return false
	case err != nil:
		c.refuse("header", "request header refused, connection closed", "api", apiName(h.key), "version", h.version, "reason", err)
		return false
	}
	req, err := c.s.schemas.decodeInto(c.requestFor(h.key), h, body)
	if err != nil {
		c.refuse("body", "malformed request, connection closed", "client_id", clip(h.clientID), "api", apiName(h.key), "version", h.version, "reason", err)
		return false
	}
	c.s.stats.count(h.key, h.version)
	c.request = Request{
		Key: h.key, Version: h.version, CorrelationID: h.correlationID, ClientID: h.clientID,
		Client: &c.client, Listener: c.listener, Body: req, Received: now, conn: c,
	}
	ok := c.answer(&c.request, len(frame))
	c.request.Body = nil
	clear(c.produce.Topics) // they refer to the frame
	return ok
}

// produceKey is the one API that is asked for each batch.
const produceKey = 0

// requestFor is what the body of a request is decoded into: that of a Produce is the connection's own, again and again.
func (c *conn) requestFor(key int16) kmsg.Request {
	if key != produceKey {
		return kmsg.RequestForKey(key)
	}
	c.produce = kmsg.ProduceRequest{Topics: c.produce.Topics[:0]}
	return &c.produce
}

// answer has a request handled and sends the reply.
func (c *conn) answer(r *Request, size int) bool {
	reply, ok := c.handle(r)
	sent, err := 0, error(nil)
	if ok && !reply.Close {
		sent, err = c.out.reply(r, reply)
	}
	releaseAll(reply.Pieces)
	if !ok || reply.Close || err != nil {
		return false
	}
	if c.s.o.Observe != nil {
		c.s.o.Observe(Observation{Key: r.Key, Version: r.Version, Listener: r.Listener, Took: time.Since(r.Received), RequestBytes: size, ReplyBytes: sent})
	}
	return c.s.base.Err() == nil
}

// handle calls the Handler. A panic there is a bug of ours; it ends this connection and not the process, which may be
// somebody else's program.
func (c *conn) handle(r *Request) (reply Reply, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			c.refuse("panic", "bug: request handler panicked, connection closed", "api", apiName(r.Key), "version", r.Version,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	return c.s.o.Handler.Handle(c.ctx, r), true
}

// refuseVersion logs that nothing is served under a key and version, naming all that helps to find the client whose
// settings are meant.
func (c *conn) refuseVersion(h header, lo, hi int16, served bool) {
	attrs := []any{"client_id", clip(h.clientID), "api", apiName(h.key), "version", h.version}
	if served {
		attrs = append(attrs, "served", fmt.Sprintf("%d-%d", lo, hi))
	} else {
		attrs = append(attrs, "served", "none")
	}
	// One line per API, so that each that a client lacks is named; all unknown keys are one.
	kind := "version " + kmsg.NameForKey(h.key)
	c.refuse(kind, "request for an API version that is not served, connection closed", attrs...)
}

// apiName is the name of an API for a log line.
func apiName(key int16) string {
	if kmsg.RequestForKey(key) == nil {
		return fmt.Sprintf("key %d", key)
	}
	return kmsg.NameForKey(key)
}

// clip shortens a client id for a log line.
func clip(s string) string {
	if len(s) > maxClientIDLog {
		return s[:maxClientIDLog] + "…"
	}
	return s
}

func (c *conn) flush() error { return c.out.flush() }
