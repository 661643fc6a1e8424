// Package txn is the transaction coordinator: it gives producers their ids and epochs, knows which partitions a
// transaction has, and ends it on all of them (KIP-98, KIP-360, KIP-890), over the records of __transaction_state.
//
// # What it owns
//
// Service answers the transaction requests in kmsg's terms; one file per request. machine is the state of one partition
// of the transaction topic, a pure state machine: no socket, file or goroutine of its own, its time and its timers come
// from internal/coord, which also reads and writes the partition. transaction is one transactional id. ending writes the
// markers of a transaction whose end is decided.
//
// # Data in and out
//
// In: requests; Elected and Resigned from whoever follows the metadata; Verify from whoever appends batches of
// transactions; Settle from whoever stops in order. Out: responses; records of type 0 in value version 1 (0 while
// transaction.version is 0), as Apache Kafka 4.4 writes them; markers to the partitions through Options.
//
// # Invariants
//
//   - TXN-1: a transactional id moves between states only as State.allows says.
//   - TXN-2: a producer id and epoch are never given out twice; an epoch of 32767 is never given out.
//   - TXN-3: an answer that promises an end, an epoch or a partition is given only after its record is committed.
//   - TXN-4: markers are written only after the decision is committed, and a decided transaction gets all its markers:
//     after a restart they are written again, and a partition is passed over only when the metadata says that it does
//     not exist.
//   - TXN-5: while markers are being written the transactional id takes nothing new: CONCURRENT_TRANSACTIONS.
//   - TXN-6: with transaction version 2 each end raises the epoch, so that a late batch of one transaction can never
//     become part of the next.
//
// Differences from Apache Kafka, on purpose: a marker that a partition refuses is tried again, slowly, instead of being
// given up until the next election; an implicit add that meets a transaction being ended goes on when that has ended,
// not after a pause; AddPartitionsToTxn without transactions is answered.
//
// # Concurrency
//
// Everything in machine belongs to its shard's goroutine. Each transaction that is being ended has one goroutine, which
// ends with its shard; Close waits for all of them.
//
// # Format
//
// docs/formats/transaction-state.md.
package txn
