// Package share is the leader of share partitions (KIP-932): it hands records of a partition out to the members of a share
// group, each to one of them at a time, and keeps track of what became of them.
//
// # What it owns
//
// Manager: the share partitions whose partition this node leads, each with its window of records in flight (subroom
// window), the share sessions, and the one clock for all locks. Who is a member of a group is the group coordinator's; the
// durable state is the share coordinator's, who is reached through Persister. Records that are given up are put into
// dead-letter queues by subroom deadletter, which is reached through DeadLetters.
//
// # Data in and out
//
// In: share fetches and acknowledgements. Out: Regions of the log with the ranges that the reader acquired in them, and
// states to persist. Records are never read here, only the headers of their batches.
//
// # Invariants
//
//   - SHR-1: an acknowledgement is answered after its states are persisted; if that fails, the records are acquired as
//     before.
//   - SHR-2: states of one share partition are persisted one write at a time, in the order in which they came about.
//   - SHR-3: a share partition works for one leader epoch and one state epoch. When either is over it is fenced, and
//     whoever comes next begins with what is persisted.
//   - SHR-4: there is one timer for the locks of all share partitions. It rings when the first lock may have run out.
//   - SHR-5: a fetch that waits holds no records and no lock.
//   - SHR-6: of a group with a dead-letter queue, a record is given up in two steps: that it will be is persisted and
//     answered, then its letter is delivered, then it is archived. Whoever loads the state in between delivers it again.
//
// # Concurrency
//
// A share partition has a mutex around its window and the queue of its writes; it is held for steps in memory only. The
// manager's mutex guards the set of share partitions, the sessions have one of their own. Writes, loads and
// deliveries run on goroutines that Close waits for, one of each for a share partition.
//
// # Protocol
//
// KIP-932, KIP-1191, KIP-1206, KIP-1222; docs/protocol.md.
package share
