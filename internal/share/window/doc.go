// Package window keeps the state of the records of one share partition that are between "not yet fetched" and "done".
//
// # What it owns
//
// Window: the records from the share partition's start offset up to the next one that nobody fetched. They lie in
// batches, which are what was handed out in one piece; a batch is a list of runs, and a run is a range of offsets that
// share one state, delivery count, owner and lock. Change: what an acknowledgement, a release or a lock that ran out did
// to some of them, to be persisted.
//
// # Data in and out
//
// In: which record batches a read found, acknowledgements, the time. Out: which records the reader may have, what is to
// be persisted, where to read next, and when the next lock runs out.
//
// # Invariants
//
//   - WIN-1: batches are in order and disjoint, and the runs of a batch cover it without holes. Between batches lie only
//     offsets at which the log has no records.
//   - WIN-2: start <= the first batch's first offset, and next is the offset after the last batch's.
//   - WIN-3: the record at start is not done, unless a change of it is being persisted or the window is empty.
//   - WIN-4: a run is under at most one change. Until that is concluded the run is acquired, and nobody else may have it
//     or acknowledge it.
//   - WIN-5: no step costs more than the runs that it touches plus the batches of the window, whatever ranges are asked for.
//   - WIN-6: where records go to a dead-letter queue, one that is rejected or given up is Archiving first. It becomes Archived
//     by Archive, whose caller has seen to its letter, and by nothing else; until then the start does not pass it.
//
// # Concurrency
//
// None: the owner serializes. There are no clocks; deadlines are handed in.
//
// # Protocol
//
// KIP-932, KIP-1191 (dead letters), KIP-1206 (record_limit), KIP-1222 (renewal). States and their numbers are those of __share_group_state.
package window
