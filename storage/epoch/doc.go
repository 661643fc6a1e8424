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
//   - EPO-2: what Clear and TruncateFromEnd take away is gone from the file when they return nil; when writing fails
//     memory is as it was before.
//   - EPO-3: everything else is in memory at once and in the file after Save. The owner saves the history below an offset
//     before it gives up reading the log from below that offset at the next start (its recovery point): from there on
//     the log itself tells the epochs (Relearn), and an epoch without records need not survive. So an election costs
//     no fsync, and a broker becomes leader of ten thousand idle partitions without a write.
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
