// Package savepoint keeps of a node's log directories what a broker may change or take away, and brings them back to that moment,
// byte for byte, whatever was done since by Samsa or Apache Kafka.
//
// # What it owns
//
// The file of a savepoint, the directory of the same name with ".d" behind it, MakePlan and Rollback.
//
// # Data in and out
//
// Create reads directories, under their locks, and writes a savepoint. Logs are append-only, so of a segment's log a second name (a hard
// link) and its length are enough: what is appended later is cut off again, and a segment that retention, compaction or the deletion of its
// topic unlinks lives on under the second name. What recovery may cut off a log, and every other file, is copied.
//
// MakePlan says what Rollback would do, and which records are given up. Rollback does it. A savepoint is not used up by it.
//
// # Invariants
//
//   - SAV-1: nothing is saved or brought back while another process holds the lock of one of the directories.
//   - SAV-2: a file under a savepoint's name is complete, and all that it needs is on disk. Create changes nothing in the directories but the
//     number of names of their logs.
//   - SAV-3: Rollback changes nothing unless all can be given back: every copy, every second name and every length is checked before.
//   - SAV-4: Rollback takes away the marker of an orderly stop and the recovery points first, and brings them back last, durably. A directory
//     in between is recovered wholly by the broker that opens it, so that no index is trusted that belongs to another log.
//     meta.properties of the directory with the metadata log comes back after the others: whichever kind of node the directories have been
//     and become, a broker of one of the two takes all of them.
//   - SAV-5: Rollback compares what is there with what was saved, file by file, and does what is missing. So it can be interrupted anywhere,
//     a broker may even run in between, and the next one completes it.
//   - SAV-6: the metadata log reaches back to a snapshot at every moment: a snapshot goes only when the log that comes back is whole, and
//     until then the newest one counts.
//
// # Concurrency
//
// One Create or Rollback at a time, which the locks ensure.
//
// # Format
//
// JSON lines, see manifest.go; docs/swap.md tells people what is in it.
package savepoint
