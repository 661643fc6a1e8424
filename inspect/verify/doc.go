// Package verify holds the files of Kafka's data directories against every rule that Kafka relies on.
//
// # What it owns
//
// The rules and their names, what breaking one means for the data, and the order in which files are read so that a
// directory in use is not misjudged.
//
// # Data in and out
//
// A log directory, a partition directory or one file in; Findings out, one at a time, and a Summary. Partition also returns
// what repair needs to know: where the damage lies, which offsets are left, the leader epochs that the batches tell.
//
// # Invariants
//
//   - VER-1: nothing is changed, created or locked.
//   - VER-2: nothing that Apache Kafka or Samsa wrote is called wrong: neither after a clean stop, nor after a kill, nor while
//     the broker goes on writing. What changes while it is read is read again, and only what is still so counts.
//   - VER-3: memory holds pieces of one segment at a time, the state of the producers of one partition and its list of files.
//   - VER-4: damage ends nothing: the walk goes on at the next batch with a right checksum.
//
// # Concurrency
//
// A call uses its caller's goroutine, besides those of logfile.Reader.
//
// # Format
//
// docs/formats/; the rules are listed in docs/inspect.md.
package verify
