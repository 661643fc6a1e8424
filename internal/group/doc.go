// Package group is the group coordinator: classic groups (consumers', Connect's, Schema Registry's and others' of
// that protocol), groups of the consumer protocol (KIP-848) and of the streams protocol (KIP-1071), share groups
// (KIP-932), and committed offsets, over the records of __consumer_offsets.
//
// # What it owns
//
// Service answers the group and offset requests in kmsg's terms; one file per request. machine is the state of
// one partition of the offsets topic, a pure state machine: no socket, file or goroutine of its own, its time
// and its timers come from internal/coord, which also reads and writes the partition. classicGroup is one group
// with its members; consumerGroup one of the consumer protocol, whose state and rules are in package consumer, with
// the timers of its members; streamsGroup likewise one of the streams protocol, with package streams, and shareGroup a
// share group, with package share; what these have in common is package modern, and clocks. offsets are the committed ones,
// and those of open transactions.
//
// # Data in and out
//
// In: requests with their Caller; Elected, Resigned and Publish from whoever follows the metadata. Out: responses;
// records of types 1 to 8, 10 to 17 and 19 to 23, offsets in value version 4 (1 if the client asked for a retention time), classic
// groups in version 3, as Apache Kafka 4.4 writes them. Request buffers are lent until the method returns.
//
// The states of share partitions are kept by the share coordinator, who is reached through SharePersister; which of them
// a group has is recorded here.
// Offsets that a transaction commits (TxnOffsetCommit) stand in batches of its producer and are pending until the
// marker is written, which the transaction coordinator hands in through WriteMarker.
//
// # Invariants
//
//   - GROUP-1: the generation of a group only grows; after a restart it goes on from the last one stored.
//   - GROUP-2: in a generation every member is answered with the same leader, protocol and number; only the
//     leader sees the members.
//   - GROUP-3: an assignment is answered only after the group's record that holds it is committed.
//   - GROUP-4: groups are looked for among as many partitions as the offsets topic had when it was seen first.
//   - GROUP-5: an id belongs to one kind of group. Of an empty group of classic or consumer protocol the records are
//     removed in the batch that begins one of the other, so are those of an empty classic group that becomes a streams
//     group, and the other way; one with members changes over with them, in one batch, as
//     far as group.consumer.migration.policy allows (G-13).
//   - GROUP-6: a join phase does not end while ids that were handed out are missing (KIP-394), unless time is
//     over; such an id is given up when it expires, is left with, or its connection ends.
//   - GROUP-7: of two records for one partition's offset the later in the log wins, whenever its transaction ends.
//   - GROUP-8: a group with members keeps the offsets of the topics they read, however old.
//   - GROUP-9: a consumer, streams or share group changes by its records alone: a request decides on a copy, and what it decided is
//     applied when it is written. Its answer waits until that is committed.
//   - GROUP-10: what a share group asks of the share coordinator is recorded before it asks, and what came of it after;
//     a shard does not wait for that. Of a partition it is asked for one thing at a time, and who administers a group waits
//     for what is asked already.
//
// Differences from Apache Kafka, on purpose: GROUP-6's last case; members of old clients that hang up before they
// were told their id are removed at once; who waits in JoinGroup or SyncGroup is answered when another request
// takes its place or its member is removed; an offset of an earlier topic of the same name is not handed out; an
// empty group that has handed out ids is not expired; regular expressions are looked up within a second after topics
// have come or gone, where Kafka waits for a heartbeat ten seconds later; internal topics of streams applications are
// created before the heartbeat that needs them is answered.
//
// # Concurrency
//
// Everything in machine belongs to its shard's goroutine. Service has only immutable fields, atomics, the goroutines that
// watch connections, one for each id that was handed out and not used, and those that wait for the share coordinator;
// Close waits for them.
//
// # Format
//
// docs/formats/consumer-offsets.md.
package group
