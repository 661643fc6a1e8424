// Package coordinator is the share coordinator (KIP-932): it keeps the state of share partitions, which is what a share
// group has done with the records of a partition, in the records of __share_group_state.
//
// # What it owns
//
// Service answers the requests about share state in kmsg's terms, one file per request; brokers ask it on behalf of
// share-partition leaders and of the group coordinator. machine is the state of one partition of the topic, a pure
// state machine over internal/coord; state is that of one share partition.
//
// # Data in and out
//
// In: requests, Elected and Resigned from whoever follows the metadata, deleted topics. Out: answers; records
// ShareSnapshot and ShareUpdate in value version 0, as Apache Kafka 4.4 writes them; the offset below which nothing
// of a partition is needed any more (Options.DeleteRecords).
//
// # Invariants
//
//   - SHC-1: what is answered is committed.
//   - SHC-2: the state of a share partition is its last snapshot and the updates after it. Its first record is a
//     snapshot, and after as many updates as the settings say comes another.
//   - SHC-3: the state epoch of a share partition never falls while it lives; a write of a lower one is refused.
//   - SHC-4: the leader epoch of whoever reads a share partition's state never falls; who comes with a lower one is fenced.
//   - SHC-5: the batches of a state do not overlap, are in order, and begin at its start offset or after.
//   - SHC-6: the log start is raised to the oldest snapshot that some share partition still rests on, never above.
//
// # Concurrency
//
// A machine belongs to its shard's goroutine. Service has immutable fields and atomics, and the goroutines that raise
// log starts; Close waits for them.
//
// # Format
//
// docs/formats/share-group-state.md.
package coordinator
