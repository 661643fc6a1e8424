// Package inspect looks at Kafka data files offline: without a broker, and without ever writing.
//
// # What it owns
//
// Dump prints what segments, indexes, snapshots and checkpoints hold, line for line as Kafka's own
// DumpLogSegments does, or as one JSON object per line.
//
// # Data in and out
//
// Paths in; text out. Files are opened for reading only, through vfs.FS, and read in pieces: memory holds one
// batch of a segment, and one record of a compressed batch.
//
// # Invariants
//
//   - INS-1: no file makes this package panic, and no file is changed.
//   - INS-2: a damaged file never hides another one: what went wrong is said, and the next file is dumped.
//   - INS-3: where Kafka's tool prints a line, the same line is printed; docs/compat-dump.md lists the exceptions.
//
// # Concurrency
//
// A call uses its caller's goroutine and shares nothing with other calls.
//
// # Format
//
// docs/formats/record-batch.md, index.md, producer-snapshot.md and, for the JSON form, dump-json.md.
package inspect
