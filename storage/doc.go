// Package storage is one partition's log on local disk.
//
// # What it owns
//
// [Log]: the segments of one partition directory and the offsets that bound them; appending as a leader, a follower, a
// coordinator or the metadata quorum; reading by offset to a file range; lookups by timestamp and by leader epoch;
// rolling, retention, truncation, DeleteRecords; loading, and recovery after a crash. It knows nothing of acks, waiting
// requests, replicas or error codes.
//
// # Data in and out
//
// Record batches in, borrowed until Append returns, their offsets and leader epoch written in place. File ranges
// ([vfs.Region]) out: no payload passes through here on the way to a client. What a person should hear about goes to
// Options.Observe, the first failed write or fsync to Options.OnFailure, both outside of every lock.
//
// # Invariants
//
//   - LOG-1: log start ≤ last stable offset ≤ high watermark ≤ log end, in what [Log.Offsets] returns.
//   - LOG-2: an append becomes visible in the order bytes, index, producer state, log end offset; a reader that sees an
//     offset can read everything below it.
//   - LOG-3: segments are ordered by base; the last one is active, the others never grow.
//   - LOG-4: after a failed write or fsync nothing is written any more (the Log is latched): what is half written stays
//     above the last known log end and is cut by the next recovery.
//   - LOG-5: everything below the recovery point was fsynced; recovering alone never raises it.
//   - LOG-6: recovery cuts torn bytes at or above the recovery point only. Damage below it is reported and kept.
//   - LOG-7: offsets inside a segment lie within 2^31-1 of its base; the log rolls before one would not.
//   - LOG-8: the high watermark never moves back, except to the log end by truncation.
//   - LOG-9: where there is no room or no descriptor (ErrShortage) the log is as it was before the call, or holds the
//     records and keeps its recovery point: it is not latched. Only an fsync that fails is final for any reason.
//
// # Concurrency
//
// One writer at a time holds the mutex; readers take no lock: they load an atomic pointer to an immutable list of
// segments and atomic offsets. fsync happens outside of the mutex; see docs/locks.md for the order of locks.
//
// # Format
//
// docs/formats: record-batch.md, index.md, producer-snapshot.md, compaction.md. The names of files are in storage/segment.
package storage
