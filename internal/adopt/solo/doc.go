// Package solo makes the directories of one member of a larger cluster those of a cluster of one node.
//
// # What it owns
//
// Make, which looks and plans; and Plan.Apply, which appends to the metadata log what makes it so: this node is the only
// replica of what it has, the other brokers and controllers are forgotten, and it is the only voter.
//
// # Data in and out
//
// The log directories of a broker that follows or leads the metadata quorum in; a Plan out: which partitions are whole
// here, which lag, which are not here. Segments are not touched.
//
// # Invariants
//
//   - SOL-1: Make changes nothing.
//   - SOL-2: an Apply that a crash ended leaves directories that serve refuses as before and that Make and Apply finish,
//     or the finished ones (metadata.TakeOver).
//   - SOL-3: topic ids, settings, users, quotas and producer ids stay; no record that is here is lost.
//
// # Concurrency
//
// A call uses its caller's goroutine. Apply holds the locks of the directories.
//
// # Format
//
// docs/swap.md, docs/formats/metadata-log.md.
package solo
