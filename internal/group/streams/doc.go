// Package streams holds the groups of the streams rebalance protocol (KIP-1071): their state, their topologies, who runs
// which task, and what a request changes in it.
//
// # What it owns
//
// Group is one group as its records describe it; Live is what is known of it besides and is lost with the shard: the
// offsets that members report, the topology as the present topics make it, who wants the application to end. Change
// is one request's doing: it decides on a copy, and collects the records that bring the group there. The package has
// no timers, sockets or logs; whoever hosts a group keeps its members' time and creates its topics.
//
// # Data in and out
//
// In: records of the types 17 and 19 to 23 of __consumer_offsets (Apply), requests in kmsg's terms, a view of the
// metadata. Out: records in the order and formats of Apache Kafka 4.4, the member as it stands afterwards, what its
// answer tells, internal topics that are to be created, Kafka errors.
//
// # Invariants
//
//   - STREAMS-1: the state of a Group is what its records say; a Change touches nothing but its copy, and Live.
//   - STREAMS-2: an active task runs in one process at a time; it counts as running until its owner has said that it
//     gave it up. A process holds a task in one role at a time, but for a member that changes its role.
//   - STREAMS-3: the epoch of a group only grows. Members that come, go or change what assignments depend on raise it,
//     and so do topics that are made, grow or go, and settings of assignments.
//   - STREAMS-4: a member gets the epoch of an assignment only when it has given up what that takes from it.
//   - STREAMS-5: a request that is sent again is answered again and changes nothing; an answer that is lost is made up for by
//     the next one.
//   - STREAMS-6: a Member is never changed once it is in a Group; a changed one takes its place.
//   - STREAMS-7: while a topic is missing or has the wrong number of partitions, nobody is assigned a task.
//
// # Concurrency
//
// None: a group belongs to its shard's goroutine.
//
// # Format
//
// docs/formats/consumer-offsets.md.
package streams
