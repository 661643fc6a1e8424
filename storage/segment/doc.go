// Package segment is one segment of a log: a `.log` file with its indexes.
//
// # What it owns
//
// [Segment]: appending batches and the index entries that go with them, finding the batch that holds an offset,
// scanning batch headers, truncation, sealing, recovery, renaming; and the names of all files of a partition directory
// (files.go).
//
// # Data in and out
//
// Whole batches with final offsets in; locations, headers, file ranges out. Which segment an offset belongs to, and what
// may be read, the log decides.
//
// # Invariants
//
//   - SEG-1: bytes below Size are whole batches with rising offsets, except for damage that recovery kept.
//   - SEG-2: an offset index entry is the last offset of a batch and the position where that batch begins. The first
//     batch is never indexed; the next one that begins more than index.interval.bytes of log after the last entry is.
//   - SEG-3: the largest timestamp goes with the last offset of the first batch that has it.
//   - SEG-4: an index that contradicts the log is made anew from the log; the log is never changed for it.
//   - SEG-5: a sealed segment is neither opened nor read before somebody asks for its content.
//
// # Concurrency
//
// One writer (the log's, under its mutex) appends, truncates, seals and renames. Readers find and scan without a lock:
// Size and the index pointers are atomic. The largest timestamp has a small lock of its own, which is never held
// while reading files, except for the first look at a sealed segment.
//
// # Format
//
// docs/formats/record-batch.md and docs/formats/index.md.
package segment
