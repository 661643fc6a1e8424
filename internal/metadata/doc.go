// Package metadata holds the state of the cluster: a log of KRaft records in Apache Kafka's own encoding, folded
// into an immutable image.
//
// # What it owns
//
// The directory __cluster_metadata-0 with everything in it: the log, quorum-state, snapshots; and Format, which
// makes a directory as Kafka's storage tool does. The log's files themselves belong to package storage.
//
// The process is the only voter of the controller quorum, so that there is nothing to elect and nothing to wait
// for but the disk: each Open begins a new leader epoch, each Append is committed when it is synced. There is no
// replication in here. NO_OP records, which Kafka writes every 500 ms, are not written: they let followers notice
// a dead leader and advance their high watermark, and there are none; they would keep an idle disk awake.
//
// # Data in and out
//
// In: records (package stored), by Append, or by Update when they depend on the present state. Out: the Image,
// free to read at any time, and a Delta to each Publisher for each change.
//
// All record types of Apache Kafka 4.4 are folded. Those that nobody acts on yet (ACLs, quotas, credentials,
// tokens, controllers, configs of any resource) are kept and written back into snapshots. A type, version or
// feature level that is not known makes Open fail before it writes a byte: Look, the half of Open that only reads, comes first.
//
// # Invariants
//
//   - META-1: records that contradict the state are refused before a byte of them is written.
//   - META-2: an Image never changes; what a fold changes it has copied since the last seal.
//   - META-3: records between BEGIN_TRANSACTION and END_TRANSACTION become visible together or never.
//   - META-4: an Image is published when its records are synced, in the order of the records; Append returns
//     after that.
//   - META-5: the image of a snapshot and the records behind it equals the image of all records; equal images
//     give equal snapshots.
//   - META-6: a file under a snapshot's name is complete.
//   - META-7: a directory whose controller quorum has other voters is not written to, except by TakeOver, which is there
//     to end that.
//   - META-8: no record carries an epoch that quorum-state has not on disk.
//
// # Concurrency
//
// Image takes no lock. Appends may come from any number of goroutines: they are written in turn and share
// fsyncs. Publishers are called by one goroutine at a time, outside the lock under which records are written;
// a publisher must not append. Snapshots are written by a goroutine that Close waits for.
//
// # Format
//
// docs/formats/metadata-log.md.
package metadata
