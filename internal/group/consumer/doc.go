// Package consumer holds the groups of the consumer rebalance protocol (KIP-848): their state, and what a request
// changes in it.
//
// # What it owns
//
// Group is one group as its records describe it. Change is one request's doing: it decides on a copy, and collects the
// records that bring the group there. The package has no timers, sockets or logs; whoever hosts a group keeps its
// members' time.
//
// # Data in and out
//
// In: records of the types 3 to 8 and 16 of __consumer_offsets (Apply), requests in kmsg's terms, a View of the
// metadata. Out: records in the order and formats of Apache Kafka 4.4, the member as it stands afterwards, Kafka
// errors.
//
// # Invariants
//
//   - CONSUMER-1: the state of a Group is what its records say; a Change touches nothing but its copy.
//   - CONSUMER-2: a partition has one owner at a time; it counts as owned until the owner has said that it gave it up.
//   - CONSUMER-3: the epoch of a group only grows, and every change of subscriptions or of the topics they name raises it.
//   - CONSUMER-4: a member gets the epoch of an assignment only when it has given up what that takes from it.
//   - CONSUMER-5: a request that is sent again is answered again and changes nothing (G-04).
//   - CONSUMER-6: a Member is never changed once it is in a Group; a changed one takes its place.
//
// # Concurrency
//
// None: a group belongs to its shard's goroutine.
//
// # Format
//
// docs/formats/consumer-offsets.md.
package consumer
