// Package logfile reads the files of Kafka's data directories for people who look at them: from start to end, whatever
// state they are in, and without disturbing a broker that is using them.
//
// # What it owns
//
// Reader, the walk through the batches of a segment and over damage in it; File, a file whose pages do not push others out
// of the page cache; Entries, the walk through fixed-size entries of an index; and the listing of a partition directory.
//
// # Data in and out
//
// Files of vfs.FS in, one batch or entry at a time out.
//
// # Invariants
//
//   - LGF-1: nothing is ever written, locked or renamed.
//   - LGF-2: memory holds a few pieces of a file, what a bounded part of their records expands to, and one batch, whatever sizes the
//     file claims.
//   - LGF-3: pages of a File that were in the page cache before it was opened stay there; those that it brought in go. Where
//     the first missing page lies in the middle of a file, some of those behind it may count as having been there.
//   - LGF-4: goroutines that read ahead end before Close returns.
//
// # Concurrency
//
// A Reader belongs to one goroutine. Large files are read and checked by that one and up to three others, which it owns.
//
// # Format
//
// docs/formats/record-batch.md, docs/formats/index.md.
package logfile
