// Package fromlogs makes cluster metadata for log directories that have none: those of ZooKeeper's time, and orphans of
// which only the partitions are left.
//
// # What it owns
//
// Make, which looks at the directories and plans; and Plan.Apply, which writes __cluster_metadata-0, meta.properties and,
// where it is missing, partition.metadata.
//
// # Data in and out
//
// Names of partition directories, their small files and a sample of their batches in; a Plan out, for a person to read and
// to change by Options. What ZooKeeper had and the files do not tell (users, ACLs, quotas, settings that leave no trace) is
// lost, and the Plan says so.
//
// # Invariants
//
//   - FLG-1: Make changes nothing.
//   - FLG-2: an Apply that a crash ended leaves directories that are as before to whoever could use them before, and
//     that Make and Apply finish; or ones that Samsa and Apache Kafka open. The metadata is built beside, under a name that
//     every broker takes for the remains of a deleted topic, and moved into place as a whole; then the meta.properties of
//     its directory becomes one of version 1, which is the moment at which all changes. Before that the other directories
//     get their ids, which no broker minds, and after it their version.
//   - FLG-3: no record of a topic is lost by what was guessed: where the data is older than the retention that would hold,
//     the topic keeps everything.
//   - FLG-4: topic ids that a partition.metadata tells are kept.
//
// # Concurrency
//
// A call uses its caller's goroutine. Apply holds the locks of the directories.
//
// # Format
//
// docs/swap.md, docs/formats/metadata-log.md.
package fromlogs
