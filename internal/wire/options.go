package wire

import (
	"log/slog"
	"time"
)

// Defaults of Limits, as Apache Kafka 4.4 has them.
const (
	// DefaultMaxRequestBytes is socket.request.max.bytes.
	DefaultMaxRequestBytes = 100 << 20
	// DefaultIdleTimeout is connections.max.idle.ms.
	DefaultIdleTimeout = 10 * time.Minute
)

// Options are what a Server needs. Handler is required.
type Options struct {
	Handler Handler
	// Logger gets what a person should know: refused input, listeners in trouble. nil is silence.
	Logger *slog.Logger
	Limits Limits
	Send   Send
	// Observe is told of every request that was answered, after its reply was handed to the socket's buffer.
	// It runs on the connection's goroutine and must be quick. nil is allowed.
	Observe func(Observation)
	// Gone is told of every client whose connection has ended, after its last request was answered. It runs on the
	// connection's goroutine and must be quick. nil is allowed.
	Gone func(*Client)
}

// Limits bound what clients may take. Zero fields mean the default.
type Limits struct {
	// MaxRequestBytes is the largest frame accepted, without its size prefix (socket.request.max.bytes).
	MaxRequestBytes int
	// IdleTimeout ends a connection on which no byte moved for that long (connections.max.idle.ms);
	// negative: never.
	IdleTimeout time.Duration
	// MaxConnections is how many connections the server holds at once over all listeners (max.connections);
	// at the limit accepting waits. 0: no limit.
	MaxConnections int
	// MaxConnectionsPerIP ends further connections of an address at once (max.connections.per.ip). 0: no limit.
	MaxConnectionsPerIP int
	// PerIP overrides MaxConnectionsPerIP for single addresses, in text without a port
	// (max.connections.per.ip.overrides).
	PerIP map[string]int
	// SendBufferBytes and ReceiveBufferBytes set the socket buffers (socket.send.buffer.bytes,
	// socket.receive.buffer.bytes); 0 or negative leaves them to the system.
	SendBufferBytes, ReceiveBufferBytes int
}

// RegionMode is how the regions of a reply reach the socket.
type RegionMode int8

const (
	// RegionsAuto copies small regions, and lets the kernel send large ones where it can to clients on other machines.
	// Over loopback it copies: there a consumer of 1 MB batches got 0.74 to 0.92 of the records per second by sendfile,
	// for the kernel feeds the socket in small pieces and wakes the reader for each.
	RegionsAuto RegionMode = iota
	// RegionsCopy always copies through a buffer.
	RegionsCopy
	// RegionsSendfile lets the kernel send every region, however small, where it can.
	RegionsSendfile
)

// DefaultSendfileFrom is the region size from which the kernel sends. Measured on an idle machine (server's processor
// time per reply, files written in 16 KB appends): 16 KiB cost 15.8 us copied and 14.4 us by sendfile, 64 KiB 25.2 and
// 19.7, 256 KiB 67 and 53, 1 MiB the same. Below 64 KiB the gain is within the noise and a copy frees the file sooner.
// BenchmarkRegions repeats the measurement.
const DefaultSendfileFrom = 64 << 10

// Send tunes how replies are written. The zero Send is right for most.
type Send struct {
	Regions RegionMode
	// SendfileFrom is the smallest region, in bytes, that RegionsAuto leaves to the kernel; 0 is
	// DefaultSendfileFrom.
	SendfileFrom int
}

func (l Limits) withDefaults() Limits {
	if l.MaxRequestBytes <= 0 {
		l.MaxRequestBytes = DefaultMaxRequestBytes
	}
	if l.IdleTimeout == 0 {
		l.IdleTimeout = DefaultIdleTimeout
	}
	return l
}

func (s Send) withDefaults() Send {
	if s.SendfileFrom <= 0 {
		s.SendfileFrom = DefaultSendfileFrom
	}
	return s
}

// Observation is one answered request.
type Observation struct {
	Key, Version int16
	Listener     *Listener
	// Took is the time from the request's last byte to its reply, parked time included.
	Took time.Duration
	// RequestBytes and ReplyBytes are frame sizes without their prefixes; ReplyBytes is 0 when nothing was sent.
	RequestBytes, ReplyBytes int
}
