// Package replica hosts the partitions of this node.
//
// # What it owns
//
// The set of hosted partitions (Manager), for each its log and its leadership (Partition), the rules that
// need both (epoch checks, the high watermark, min.insync.replicas, delete records), and the fetches that
// wait for data (Wait). It follows the metadata image: topics come, change and go by its deltas.
//
// # Data in and out
//
// In: metadata deltas, batches from Produce and the coordinators, reads from Fetch. Out: storage.AppendInfo,
// file regions, wake-ups, and the directory that each new replica was placed in.
//
// # Invariants
//
//   - REP-1: a partition whose directory is offline is never created a second time somewhere else.
//   - REP-2: the high watermark never goes back except by truncation; with one replica it is the log end.
//   - REP-3: a waiting fetch is in the watch list of each of its partitions, or it is finished; a finished
//     one is in none.
//   - REP-4: a leader has recorded its epoch in the log's epoch cache before its first append.
//
// # Concurrency
//
// Lookups and reads take no lock. Changes of the set come one at a time from the metadata store. The watch
// list of a partition has a mutex of its own that is held for list operations only.
//
// # Protocol
//
// KIP-101 and KIP-320 (epochs), KIP-227 is not here but in the handler.
package replica
