// Package producer keeps what one partition knows of its producers: idempotence, open transactions, snapshots.
//
// # What it owns
//
// [State], the producers of one partition with their last five batches, epochs and open transactions, and the rules by
// which a batch is accepted, recognised as a duplicate, or refused; [Snapshots], the `<offset>.snapshot` files of one
// directory.
//
// # Data in and out
//
// Batch headers and end markers in; errors, duplicates, completed transactions and the first unstable offset out. An
// append is two steps: [State.Stage] checks each batch against what the batches before it would leave behind, then
// [State.Commit] makes it so, or [State.Discard] forgets it.
//
// # Invariants
//
//   - PROD-1: nothing staged is visible before Commit.
//   - PROD-2: a producer keeps at most five batches, all of its current epoch, in log order.
//   - PROD-3: the first unstable offset is the smallest first offset of a transaction that is open, or whose end
//     marker is not below the high watermark yet.
//   - PROD-4: a snapshot file is believed only if version, CRC and length agree; otherwise it is removed and the next
//     older one is used.
//
// # Concurrency
//
// A State belongs to its log's writer: all methods run under the log's mutex. Snapshots has a lock of its own, since
// files are also written and removed in the background.
//
// # Format
//
// docs/formats/producer-snapshot.md.
package producer
