// Package row says what a row of the table is, and has what most rows need to measure.
//
// # What it owns
//
// The type Row, the circumstances of one turn (which peer, which round), and putting a peer under load while
// watching what it uses.
//
// # Data in and out
//
// In: a Turn. Out: figures of one round against one peer.
//
// # Invariants
//
//   - ROW-1: a row measures one peer at a time and leaves nothing running but what the Turn gave it.
//   - ROW-2: the processor time of broker and client are told apart; what the system does not tell is left out.
//
// # Concurrency
//
// One turn at a time.
//
// # Protocol
//
// None of its own.
package row
