// Package cleaner compacts logs: of each key the last record stays.
//
// # What it owns
//
// Which log is dirty enough and how far it may be compacted; the keys of the dirty part, in bounded memory; what stays of
// every batch; rewriting segments, which [storage.Cleaning] swaps in; retention of compacted logs; the threads, and who
// may work on which log when. The cleaner checkpoint is the owner's.
//
// # Data in and out
//
// Logs, settings and checkpoints come in through [Options]; cleaned segments go into the logs, offsets up to which a log
// is clean to Options.SaveFirstDirty, what a person should know to Options.Observe and [Cleaner.Status].
//
// # Invariants
//
//   - CLN-1: a record goes only if a later one with its key is in the log below the last stable offset, if it has no key,
//     if its transaction was aborted, or if it is a tombstone whose delete horizon has passed.
//   - CLN-2: offsets, order, timestamps, producer ids and sequences of what stays do not change.
//   - CLN-3: nothing at or above the last stable offset or in the active segment is touched.
//   - CLN-4: the last batch of a producer that the log remembers, and the batch that ends at the high watermark, stay, if
//     need be without records.
//   - CLN-5: an end marker stays as long as a batch of its transaction is left before it, and then until its delete horizon.
//     An abort marker that has such batches has its entry in the transaction index.
//   - CLN-6: a delete horizon, once stamped, is not changed.
//   - CLN-7: the keys of one thread never take more than their share of the memory; what has no place is left for the next
//     run.
//   - CLN-8: a run that fails or is aborted changes nothing but the groups of segments that it has swapped in, each of which
//     is consistent by itself; the checkpoint moves only after all of them.
//   - CLN-9: one log's failure stops no other.
//
// # Concurrency
//
// A log is worked on by one thread at a time, beside appends and reads. [Cleaner.Hold] aborts that and keeps it away.
// Truncation, closing and deletion need no Hold to be safe: whatever was read before them cannot be swapped in after
// them. Cleaner.mu is never held across I/O or calls to the owner.
//
// While a thread walks a segment, a goroutine of its own reads ahead in it, and takes work on single batches over when it
// has time. The two share a bounded number of pieces that each belong to one of them at a time. The walk waits for its
// goroutine, however it ends: nothing is being read when segments are swapped or removed.
//
// # Format
//
// docs/formats/compaction.md.
package cleaner
