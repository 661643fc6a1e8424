// Package adopt looks at the data directories of a node before another program takes them over: whose they are, what is in
// them, whether Samsa would serve them, and what would change on disk.
//
// # What it owns
//
// Look, and the Report that comes of it. Its subpackage savepoint keeps what a run would change, and brings it back.
//
// # Data in and out
//
// Log directories in; a Report out, whose fields are for JSON and whose texts are for people. Directories of Apache Kafka,
// of Samsa, of ZooKeeper's time and of no known origin can be looked at.
//
// # Invariants
//
//   - ADO-1: nothing is changed: no file is created, opened for writing, renamed or removed.
//   - ADO-2: what a Report says of serving is what the broker does: the same code reads the metadata log and judges it.
//   - ADO-3: what cannot be read is said, and the rest is looked at all the same.
//
// # Concurrency
//
// A call uses its caller's goroutine. A broker may be running on the directories; the report is then about a moment.
//
// # Format
//
// docs/swap.md, docs/formats/directory.md.
package adopt
