// Package assignor holds the server-side assignors of consumer groups (KIP-848): who of a group reads what.
//
// # What it owns
//
// Uniform and Range, named as Kafka names them in group.consumer.assignors.
//
// # Data in and out
//
// In: a Spec, the members with what they subscribe to and what they were given last. Out: an Assignment with an
// entry for every member. Nothing of the Spec is kept or changed.
//
// # Invariants
//
//   - ASSIGN-1: every partition of a topic that somebody subscribes to has exactly one owner, who subscribes to it.
//   - ASSIGN-2: the same Spec gives the same Assignment, in whatever order its members come.
//   - ASSIGN-3 (uniform): no chain of moves would bring two members' counts closer together; with equal subscriptions
//     counts differ by one at most.
//   - ASSIGN-4 (uniform): with equal subscriptions nobody loses a partition beyond what balance demands.
//   - ASSIGN-5 (range): what a member gets of a topic is contiguous, and topics with as many partitions and the same
//     subscribers are divided in the same way.
//
// # Concurrency
//
// Pure functions.
//
// # Protocol
//
// KIP-848, "Server-side assignors".
package assignor
