// Package deadletter puts records that share groups gave up into dead-letter queues (KIP-1191).
//
// # What it owns
//
// Writer: it finds a group's queue, or has it created, writes the letters, and tries again what may work later. It keeps
// nothing: which letters are outstanding is in the state of the share partition.
//
// # Data in and out
//
// In: letters about records of a partition. Out: a record in the queue for each of them, with headers that say where it lies,
// which group gave it up, after how many deliveries, and why; with its key and value if the group wants copies.
//
// # Invariants
//
//   - DLQ-1: a letter is done when it is in the queue, acknowledged as acks=all would be, or when it has become clear that it
//     cannot come there; that is told to a person.
//   - DLQ-2: a letter that is delivered again stands in the queue twice; none is left out because of another one.
//   - DLQ-3: letters are written by few at a time, and each holds no more than a read of the source and a batch of the queue;
//     nobody holds either while waiting to try again.
//
// # Concurrency
//
// A Writer may be used by many goroutines. It has none of its own, and no lock but the number of writers.
//
// # Protocol
//
// KIP-1191, and what Apache Kafka 4.4 makes of it; docs/dead-letters.md.
package deadletter
