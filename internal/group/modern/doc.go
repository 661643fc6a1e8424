// Package modern is what groups of the protocols since KIP-848 have in common: consumer, streams and share groups, whose
// members are led to a target assignment from epoch to epoch.
//
// # What it owns
//
// Draft is a group that is being changed: a copy, and the records that bring the group there. Roster is who the members
// are. Progress is how far the group has come; CheckEpoch is by which epochs a member may go on. The protocols
// themselves, and their records, are their packages'.
//
// # Data in and out
//
// In: records of a group, members, epochs of requests. Out: records in Kafka's encoding, Kafka errors.
//
// # Invariants
//
//   - MODERN-1: what a Draft has become is what the group becomes when the Draft's records are applied to it.
//   - MODERN-2: an instance id names the member that took it last, and nobody when that one has gone.
//
// # Concurrency
//
// None: a group belongs to its shard's goroutine.
//
// # Format
//
// docs/formats/consumer-offsets.md.
package modern
