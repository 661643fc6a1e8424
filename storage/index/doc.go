// Package index holds the three indexes of a segment: offset to position, timestamp to offset, aborted transactions.
//
// # What it owns
//
// The files .index ([Offset]), .timeindex ([Time]) and .txnindex ([Txn]) of one segment: appending, floor lookup,
// truncation, sealing, and the check that tells a sound file from one that a power loss padded with zeros.
//
// # Data in and out
//
// The segment appends entries in offset order and asks for the last entry at or below a key. What comes out is a
// hint where to begin to scan the .log: whoever uses it reads batch headers from there.
//
// Kafka maps its indexes and searches the last 8192 bytes first, so that nearly every lookup touches the same three
// pages. Here that warm section lives on the heap, where it cannot fault: a page fault in Go holds a scheduler thread,
// and two goroutines faulting back to back stop everybody else for tens of milliseconds. All older entries stay in the
// file. Of them the heap holds the first entry of those 4 KiB blocks that a search has come across, so that any other
// lookup ends with one pread of one block. Looking for a block begins where it would be if offsets rose evenly, so that
// the first look-up of an old offset reads two or three blocks. Nothing of a sealed index is read, opened or looked at
// before its first use.
//
// # Invariants
//
//   - IDX-1: offsets and positions of .index rise strictly; timestamps of .timeindex rise strictly, offsets never fall.
//   - IDX-2: a relative offset is 0 … 2^31-1; an entry that would not fit is refused and nothing changes.
//   - IDX-3: entries below view.first are in the file; those from it on are on the heap. So a reader never needs a
//     byte that was not written.
//   - IDX-4: a published view changes only by growing: entries below its count never change.
//   - IDX-5: whatever the file holds, a lookup ends with an answer or an error, never with a panic, a position below 0,
//     or an offset below the base.
//
// # Concurrency
//
// One writer (Append, Truncate, Reset, Seal, Close), any number of readers (Lookup, UpperBound, Collect, Entries,
// Last…) without a lock, Sync from anywhere. Readers take an atomic pointer to a view and an atomic count. A reader that
// went to the file looks again whether the view is still the one it began with, and starts over if not.
//
// # Format
//
// docs/formats/index.md. Files are those of Apache Kafka, except that they are appended to instead of preallocated:
// the form that Kafka gives them when it seals a segment or stops.
package index
