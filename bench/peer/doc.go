// Package peer starts and stops the servers that are compared, each in a process and a directory of its own.
//
// # What it owns
//
// How Samsa, Apache Kafka and the servers of package inside are started, when they are ready, and topics in them.
//
// # Data in and out
//
// In: programs, jars, a directory, settings in Kafka's names. Out: a Running with address and process number.
//
// # Invariants
//
//   - PEER-1: a peer that is Running answers requests.
//   - PEER-2: Stop and Kill return when the process is gone.
//   - PEER-3: Samsa and Apache Kafka get the same settings.
//
// # Concurrency
//
// A Launcher is used by one goroutine.
//
// # Protocol
//
// Kafka's, and NATS' for JetStream.
package peer
