// Package epoch keeps the leader epochs of one partition: which epoch began at which offset.
//
// # What it owns
//
// The file leader-epoch-checkpoint and its content in memory. Replicas find with it where their logs part ways.
//
// # Data in and out
//
// A leader assigns an epoch when it is elected, a follower when a batch of a new epoch arrives. Truncations of the log
// cut the same end here. Out comes the end offset of an epoch and the epoch of an offset.
//
// # Invariants
//
//   - EPO-1: epochs and start offsets both rise strictly from entry to entry and are ≥ 0.
//   - EPO-2: the file holds what memory holds when a method that changes the cache returns nil. When writing fails
//     memory is as it was before, except for EPO-3.
//   - EPO-3: where there is no room for the file, a new epoch and a later begin count all the same, for both can be found
//     again; Save must succeed before the owner forgets where to look.
//
// # Concurrency
//
// Readers load an immutable list and take no lock. Changes are serialised by a lock that is held while the file is
// written; they are as rare as leader elections.
//
// # Format
//
// docs/formats/checkpoints.md.
package epoch
