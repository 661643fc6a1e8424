// Package share holds share groups (KIP-932): their state, who of the members reads what, and what a request changes in it.
//
// # What it owns
//
// Group is one group as its records describe it: members and what they read, target assignments, and which share
// partitions have a durable state. Change is one request's doing: it decides on a copy, and collects the records that
// bring the group there. The package has no timers, sockets or logs; whoever hosts a group keeps its members' time, and
// has the share coordinator begin and delete states.
//
// # Data in and out
//
// In: records of the types 10 to 15 of __consumer_offsets (Apply), requests in kmsg's terms, a view of the metadata. Out:
// records in the order and formats of Apache Kafka 4.4, the member as it stands afterwards, requests to the share
// coordinator, Kafka errors.
//
// # Invariants
//
//   - SHARE-1: the state of a Group is what its records say; a Change touches nothing but its copy.
//   - SHARE-2: a partition is assigned only when the share coordinator has its state. What is assigned is assigned to as
//     many members as are needed to give every member something.
//   - SHARE-3: the epoch of a group only grows. Members that come, go or read something else raise it, topics that are
//     made, grow or go, and partitions whose state has come to be.
//   - SHARE-4: before a state is begun or deleted it is recorded that this is going on: nothing is left behind that nobody
//     knows of.
//   - SHARE-5: a request that is sent again is answered again and changes nothing.
//   - SHARE-6: a Member is never changed once it is in a Group; a changed one takes its place.
//
// Differences from Apache Kafka, on purpose: a beginning that was broken off by a restart is tried again at once and with
// the group's own rule for where to begin, where Kafka waits for half a minute and begins at 0; topics of which an
// alteration names no partition that exists are not recorded.
//
// # Concurrency
//
// None: a group belongs to its shard's goroutine.
//
// # Format
//
// docs/formats/consumer-offsets.md.
package share
