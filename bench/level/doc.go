// Package level gives every peer the same ground to stand on when its turn begins.
//
// What one peer has written is written back to the disk in the turn of the next. And a virtual machine that gives free memory back to
// its host (free page reporting) gets it again at the first touch of each page, which costs whoever happens to touch it as
// much as all the rest of a write: on one such machine the page cache took 3,700 MB/s of memory that was freed just
// before, and 220 MB/s of memory that had been free for fifteen seconds.
//
// # What it owns
//
// Nothing that lasts.
//
// # Data in and out
//
// In: how many bytes of memory are going to be needed. Other systems than Linux do nothing.
//
// # Invariants
//
//   - LVL-1: the process holds no more memory afterwards than before.
//
// # Concurrency
//
// Functions without state.
//
// # Format
//
// None.
package level
