// Package run goes through the rows: round after round, peer after peer.
//
// # What it owns
//
// Which rows and peers take part, the order, the brokers that stay up between rows, and what happens when a turn fails.
//
// # Data in and out
//
// In: rows. Out: samples and reasons for what was left out, as they come.
//
// # Invariants
//
//   - RUN-1: peers take turns within a round (A B A B), one idle while the other is measured.
//   - RUN-2: each peer begins with a fresh directory on the same disk; directories are removed when they are done with.
//   - RUN-3: the first round of a standing row is thrown away: it pays for memory that the system has not got yet, and
//     for code that a JVM has not compiled.
//   - RUN-4: what failed or was skipped is written down and returned; the other rows go on.
//   - RUN-5: before a turn nothing waits to be written back, and the memory that the row needs is there.
//
// # Concurrency
//
// One turn at a time.
//
// # Format
//
// None of its own.
package run
