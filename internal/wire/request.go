package wire

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/vfs"
)

// Listener is one endpoint as clients see it.
type Listener struct {
	// Name is the listener's name in upper case, for example PLAINTEXT.
	Name string
	// AdvertisedHost and AdvertisedPort are what Metadata and FindCoordinator tell clients of this listener.
	AdvertisedHost string
	AdvertisedPort int32
}

// Client is what is known of the peer of a connection.
type Client struct {
	// Host is the peer's IP address in text, with the leading slash that Kafka shows ("/127.0.0.1").
	Host string
	// Addr is host:port, for log lines.
	Addr string
	// SoftwareName and SoftwareVersion come from ApiVersions v3+; "" before it.
	SoftwareName, SoftwareVersion string
}

// Request is one decoded request. It belongs to the connection, and so do its buffers: the Request itself, the body of a
// Produce, and everything that aliases the frame (Records of a Produce, byte fields) are lent until Handle returns.
type Request struct {
	Key, Version  int16
	CorrelationID int32
	// ClientID is "" when the client sent null.
	ClientID string
	Client   *Client
	Listener *Listener
	// Body is the kmsg request of Key with Version set.
	Body     kmsg.Request
	Received time.Time
	conn     *conn
}

// Reply is what a handler gives back. Exactly one of Body, Pieces, None and Close is meant.
type Reply struct {
	// Body is encoded by wire at the request's version, behind the right response header.
	Body kmsg.Response
	// Pieces is an encoded body without header, for bodies that carry Regions. wire releases the Regions.
	Pieces []Piece
	// None sends nothing and goes on (Produce with acks=0).
	None bool
	// Close closes the connection without an answer.
	Close bool
}

// Piece is a part of an encoded body: bytes, then the region's bytes.
type Piece struct {
	Bytes  []byte
	Region vfs.Region
}

// Handler answers requests. Handle is called for one request of a connection at a time, from the
// connection's own goroutine; it may block (long polls, joins) in Request.Wait. ctx ends when the client
// goes away while the request waits, or when the server stops.
type Handler interface {
	// Range returns the versions of key served on the listener; ok is false for a key that is not served.
	Range(l *Listener, key int16) (min, max int16, ok bool)
	Handle(ctx context.Context, r *Request) Reply
}
