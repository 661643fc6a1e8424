// Package scrub reads the sealed segments of log directories again and again, slowly, so that bytes that have rotted on a disk
// are known while there is still another copy of them.
//
// # What it owns
//
// The order of the pass, its pace, and the file in which each log directory remembers how far it is.
//
// # Data in and out
//
// Log directories in use in; findings of verify.Segment and a Status out.
//
// # Invariants
//
//   - SCR-1: nothing of the broker's is written or locked; no lock of a log is taken, since only files are looked at.
//   - SCR-2: no more than BytesPerSecond of logs are read over any ten seconds, however many segments they are in.
//   - SCR-3: a pass goes over the partitions by name and their segments by offset. What was looked at before a stop is not
//     looked at again by the same pass; what comes into being behind its back waits for the next.
//   - SCR-4: after Close nothing is read or written.
//
// # Concurrency
//
// One goroutine per Scrubber, which Close waits for, besides those of logfile.Reader. Status may be called from anywhere.
//
// # Format
//
// docs/inspect.md, "The background scrub".
package scrub
