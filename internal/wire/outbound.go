package wire

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/vfs"
)

// apiVersionsKey is the one API whose replies always have header version 0, and that may be asked at any version.
const apiVersionsKey = 18

// Replies are held back while further requests have arrived already, so that one write carries several: until
// coalesceBytes wait, or the oldest has waited coalesceFor.
const (
	coalesceBytes = 16 << 10
	coalesceFor   = 500 * time.Microsecond
)

// How much of a large region is copied at a time. As much as a consumer asks for of a partition by default costs a third
// less processor time than a quarter of it, for the client is woken less often; but who takes his time holds a buffer of
// it, so that it is less while manyLent bytes of buffers are out.
const (
	chunkBytes     = 1 << 20
	busyChunkBytes = 256 << 10
	manyLent       = 24 << 20
)

// keepBytes is the largest encode buffer that a quiet connection keeps.
const keepBytes = 1 << 10

var errReplySize = errors.New("reply larger than a frame can be")

// outbound encodes and sends replies.
type outbound struct {
	c   *conn
	buf *buffer
	b   []byte // pending bytes, in buf.b unless they outgrew it
	// last is the size of the last reply: the next one will be like it.
	last int
	// since is when the oldest pending reply was encoded.
	since time.Time
	// deadline is the write deadline set on the connection.
	deadline time.Time
}

// versionsRefused answers ApiVersions at a version that is not served: error 35 in the layout of version 0, with the
// versions of ApiVersions itself, so that the client asks again (KIP-511). The request's body is not looked at.
func (o *outbound) versionsRefused(h header, lo, hi int16) bool {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	key := kmsg.NewApiVersionsResponseApiKey()
	key.ApiKey, key.MinVersion, key.MaxVersion = apiVersionsKey, lo, hi
	resp.ApiKeys = append(resp.ApiKeys, key)
	_, err := o.reply(&Request{Key: h.key, CorrelationID: h.correlationID}, Reply{Body: resp})
	return err == nil
}

// reply encodes a reply and sends it, now or with the next ones. It returns the frame's size without prefix.
func (o *outbound) reply(r *Request, reply Reply) (int, error) {
	if reply.None || reply.Body == nil && reply.Pieces == nil {
		return 0, nil
	}
	o.grow(o.last)
	at := o.begin(r)
	if reply.Body != nil {
		reply.Body.SetVersion(r.Version)
		o.b = reply.Body.AppendTo(o.b)
		return o.end(at, 0)
	}
	body := 0
	for i := range reply.Pieces {
		body += len(reply.Pieces[i].Bytes) + reply.Pieces[i].Region.Length
	}
	n, err := o.end(at, body)
	if err != nil {
		return 0, err
	}
	return n, o.pieces(reply.Pieces)
}

// grow makes sure that there is a buffer, of at least n bytes if it is new.
func (o *outbound) grow(n int) {
	if o.buf == nil {
		o.buf = o.c.s.pools.get(n)
		o.b = o.buf.b[:0]
	}
}

// begin appends the size's place and the response header, and returns where the frame begins.
func (o *outbound) begin(r *Request) int {
	at := len(o.b)
	if at == 0 {
		o.since = time.Now()
	}
	o.b = append(o.b, 0, 0, 0, 0)
	o.b = binary.BigEndian.AppendUint32(o.b, uint32(r.CorrelationID))
	if r.Key != apiVersionsKey && o.c.s.schemas.flexible(r.Key, r.Version) {
		o.b = append(o.b, 0) // response header version 1: no tagged fields
	}
	return at
}

// end fills in the size of the frame begun at at, of which rest bytes are still to come, and flushes unless more
// requests wait.
func (o *outbound) end(at, rest int) (int, error) {
	size := len(o.b) - at - sizeBytes + rest
	if size > math.MaxInt32 {
		return 0, errReplySize
	}
	binary.BigEndian.PutUint32(o.b[at:], uint32(size))
	o.last = min(len(o.b)-at, chunkBytes)
	if rest > 0 || len(o.b) < coalesceBytes && o.c.in.pipelined() && time.Since(o.since) < coalesceFor {
		return size, nil
	}
	return size, o.flush()
}

// flush writes what is pending.
func (o *outbound) flush() error {
	if len(o.b) == 0 {
		return nil
	}
	o.arm()
	_, err := o.c.nc.Write(o.b)
	o.reset()
	return err
}

// reset empties the buffer; one that grew is given back, so that a quiet connection holds little.
func (o *outbound) reset() {
	if cap(o.b) > keepBytes {
		o.c.s.pools.put(o.buf)
		o.buf, o.b = nil, nil
		return
	}
	o.b = o.b[:0]
}

// arm keeps a write deadline in the future: a client that takes nothing for connections.max.idle.ms is gone. It is
// moved only when a quarter of its time is over.
func (o *outbound) arm() {
	idle := o.c.s.o.Limits.IdleTimeout
	if idle <= 0 {
		return
	}
	if now := time.Now(); o.deadline.Sub(now) < idle-idle/4 {
		o.deadline = now.Add(idle)
		o.c.nc.SetWriteDeadline(o.deadline)
	}
}

func (o *outbound) close() {
	o.c.s.pools.put(o.buf)
	o.buf, o.b = nil, nil
}

// releaseAll gives all regions back (WIRE-5).
func releaseAll(pieces []Piece) {
	for i := range pieces {
		pieces[i].Region.Release()
	}
}

// pieces sends the body of a reply whose header is pending. Whatever is small goes behind it into one write.
func (o *outbound) pieces(pieces []Piece) error {
	for i := range pieces {
		p := &pieces[i]
		if err := o.append(p.Bytes); err != nil {
			return err
		}
		if p.Region.Length == 0 {
			continue
		}
		if err := o.region(&p.Region); err != nil {
			return err
		}
		p.Region.Release()
	}
	return o.flush()
}

// append adds bytes to what is pending, or sends them when they are many.
func (o *outbound) append(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if len(o.b)+len(b) <= chunkBytes {
		o.grow(len(b))
		o.reserve(len(b))
		o.b = append(o.b, b...)
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	o.arm()
	_, err := o.c.nc.Write(b)
	return err
}

// region sends or appends a region's bytes. A file that ends early is an error: the frame's size is already given,
// so that nothing but the end of the connection can follow.
func (o *outbound) region(g *vfs.Region) error {
	if o.useSendfile(g.Length) {
		sent, err := o.sendfile(g)
		if sent || err != nil {
			return err
		}
	}
	chunk := o.chunk()
	for at := 0; at < g.Length; {
		if len(o.b) >= chunk {
			if err := o.flush(); err != nil {
				return err
			}
		}
		n := min(g.Length-at, chunk-len(o.b))
		if err := o.copyRegion(g, at, n); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// chunk is how many bytes of a region to send at a time.
func (o *outbound) chunk() int {
	if o.c.s.pools.lent.Load() > manyLent {
		return busyChunkBytes
	}
	return chunkBytes
}

func (o *outbound) useSendfile(n int) bool {
	switch o.c.s.o.Send.Regions {
	case RegionsCopy:
		return false
	case RegionsSendfile:
		return true
	}
	return n >= o.c.s.o.Send.SendfileFrom && !o.c.loopback
}

// copyRegion appends n bytes of a region from at on to what is pending.
func (o *outbound) copyRegion(g *vfs.Region, at, n int) error {
	o.grow(n)
	have := len(o.b)
	o.reserve(n)
	part := vfs.NewRegion(g.File, g.Offset+int64(at), n, nil)
	if err := part.ReadInto(o.b[have : have+n]); err != nil {
		return err
	}
	o.b = o.b[:have+n]
	return nil
}

// reserve makes room for n more bytes, in a larger pooled buffer if need be.
func (o *outbound) reserve(n int) {
	if need := len(o.b) + n; need > cap(o.b) {
		b := o.c.s.pools.get(need)
		have := copy(b.b, o.b)
		o.c.s.pools.put(o.buf)
		o.buf, o.b = b, b.b[:have]
	}
}
