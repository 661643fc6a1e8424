// Package supply makes the system have free memory that the machine below it has supplied already.
//
// A virtual machine that gives free memory back to its host (free page reporting) gets it again at the first touch of each page, which
// costs whoever happens to touch it first as much as all the rest of a write: on one such machine the page cache took 3,700 MB/s
// of memory that was freed just before, and 220 MB/s of memory that was free for fifteen seconds. Who comes to pay for it is chance.
//
// # What it owns
//
// Nothing that lasts.
//
// # Data in and out
//
// In: how many bytes are going to be needed. Other systems than Linux do nothing.
//
// # Invariants
//
//   - SUP-1: the process holds no more memory afterwards than before.
//
// # Concurrency
//
// Functions without state.
//
// # Format
//
// None.
package supply
