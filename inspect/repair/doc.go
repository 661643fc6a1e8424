// Package repair makes the files of a damaged data directory such that a broker opens it, and can take everything back.
//
// # What it owns
//
// The plan (what verify found, turned into actions), carrying it out, the journal, and undoing.
//
// # Data in and out
//
// A directory in; a Plan out, which changes nothing until Run. What Run takes away stays beside the partitions, in plain
// files named after the journal: saved bytes are never deleted, except by Undo, which puts them back.
//
// # Invariants
//
//   - REP-1: nothing is changed while another process holds the directory's lock.
//   - REP-2: every change is in the journal, durably, before it is made, and is made such that making it again, or undoing it,
//     is right however far it got. A repair that was interrupted can be continued or undone.
//   - REP-3: a byte that is taken out of a file is durable elsewhere before.
//   - REP-4: batches with a right checksum are kept.
//   - REP-5: after Undo every file is as it was, byte for byte.
//
// # Concurrency
//
// One Run or Undo at a time, which the lock ensures.
//
// # Format
//
// The journal has one JSON object per line; see docs/inspect.md.
package repair
