// Package coord hosts coordinators: each partition of a coordinator topic that this node leads is a shard,
// a state machine whose state is exactly what the records of the partition say.
//
// # What it owns
//
// Runtime finds the topic's partition of a key, and makes the topic when it is first asked for. It owns the shards of one
// topic, one goroutine for each, and their timers. A shard reads its partition
// from log start to log end when the node is elected, then takes operations from a bounded queue (QueueLimit):
// it runs them on the machine one by one, writes what they want written, applies it, and completes them when
// their records are committed. The machine itself (Machine) belongs to another room; it has no goroutine, file
// or clock of its own.
//
// # Data in and out
//
// In: Elected and Resigned from whoever follows the metadata, Submit from request handlers, Advanced when a
// high watermark moves. Out: record batches to Partition.Append, in the shape Kafka's coordinators write
// (producer id -1, base sequence 0, one timestamp); completions to the functions in Op and Result.
//
// # Invariants
//
//   - COORD-1: a machine is only touched by its shard's goroutine.
//   - COORD-2: every operation that Submit accepted is completed exactly once: by its Result or by Fail.
//   - COORD-3: records reach Machine.Replay in log order, only after they were appended, never twice.
//   - COORD-4: Result.Done(nil) runs when all records up to the operation's last are below the high watermark,
//     in log order. Operations without records wait for what was written before them.
//   - COORD-5: operations share a batch only if each says that it does not look at what the others write (Op.Shares).
//   - COORD-6: Elected, Resigned, Submit and Advanced never wait for a shard, so they may be called from the
//     network path and from metadata publishers.
//   - COORD-7: a shard of a later epoch starts to read only when the one before it has stopped writing.
//   - COORD-8: keys are looked for among as many partitions as their topic had when it was seen first: among others what is
//     kept of them would seem to be lost.
//
// # Concurrency
//
// Runtime.mu guards the map of shards, shard.mu its queue; neither is held while foreign code runs. Runtime.creating is
// held while the topic is made. Close stops
// all shards and waits for them.
//
// # Format
//
// docs/formats/consumer-offsets.md describes the batches and records of the group coordinator's topic.
package coord
