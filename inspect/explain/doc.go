// Package explain answers why: why a record is read as it is, why a segment is still there, why a log is not compacted, what
// holds consumers back, and who uses the disk. It looks at files only.
//
// # What it owns
//
// Offset, Retention, Compaction, Visibility and Disk, and the words of their answers.
//
// # Data in and out
//
// A partition directory, or a log directory, in; a struct out whose String is for people and whose fields are for JSON.
//
// # Invariants
//
//   - EXP-1: nothing is changed or locked.
//   - EXP-2: the rules are those of Kafka: what is said to be kept or to go is what a broker with these settings does.
//   - EXP-3: the settings are given by the caller; without them Kafka's defaults count, and the answer says so.
//
// # Concurrency
//
// A call uses its caller's goroutine.
//
// # Format
//
// docs/formats/.
package explain
