// Package wire moves requests and replies over connections.
//
// # What it owns
//
// Listeners' accept loops, connections, frames, request headers, the check and decoding of bodies (with kmsg),
// the order of replies, and the sending of file regions. It knows neither topics nor logs: what a request means is
// the Handler's affair.
//
// # Data in and out
//
// In: bytes of a net.Listener's connections. Out: a Request to the Handler, and its Reply back to the client,
// header and body in one write. A body that carries vfs.Regions comes as Pieces; small regions are copied behind
// the bytes before them, large ones are handed to the kernel where it can (see Regions in options.go).
//
// # Invariants
//
//   - WIRE-1: replies of a connection leave in the order of its requests, each exactly once, whole or followed by
//     the end of the connection.
//   - WIRE-2: one request of a connection is handled at a time; the next is not even decoded before.
//   - WIRE-3: no memory is taken by a claimed size: a buffer is at most four times what has arrived and 8 KiB (16 KiB
//     at least), an array has at least as many bytes left in the frame as it claims elements.
//   - WIRE-4: a frame's bytes are lent to the Handler until Handle returns and are not moved meanwhile.
//   - WIRE-5: every Region of a Reply is released once, whatever happens to the connection.
//   - WIRE-6: bad input ends its connection and nothing else, with one log line that names the client; a peer that
//     repeats itself is not allowed to fill the log.
//
// # Concurrency
//
// One goroutine per connection reads, decodes, calls the Handler and writes. While a request is parked in
// Request.Wait a second goroutine may read ahead to learn that the client has gone; it is stopped and waited for
// before Wait returns. Server.mu guards the sets of listeners and connections and is never held across I/O.
//
// # Protocol document
//
// docs/protocol.md. The requests' schemas (schema_table.go) are generated from kmsg by internal/wire/gen.
package wire
