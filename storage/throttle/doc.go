// Package throttle slows background work on files down to a number of bytes a second.
//
// # What it owns
//
// Nothing but the moment at which what was asked for so far would have been done at the rate.
//
// # Data in and out
//
// In: how many bytes somebody reads or writes. Out: a pause, never shorter than 300 ms, as Kafka's own throttle looks at
// its rate.
//
// # Invariants
//
//   - THR-1: over any second after the first, no more bytes are let through than the rate says, apart from what one call
//     tells of and what falls below the shortest pause.
//   - THR-2: a change of the rate acts on what is told of from then on.
//
// # Concurrency
//
// A Throttle may be used by any number of goroutines; nobody waits while holding its lock.
//
// # Format
//
// None.
package throttle
