// Package inside runs the peers that are part of the harness: the minimum broker, kfake, JetStream and the raw server.
//
// # What it owns
//
// One server in this process until the context ends.
//
// # Data in and out
//
// In: a name, an address, a directory. Out: whatever the server speaks.
//
// # Invariants
//
//   - INS-1: servers of others run with their defaults, but for directory and address.
//
// # Concurrency
//
// One server per process.
//
// # Protocol
//
// Kafka's; NATS' for JetStream; for raw: load.Job.RecordBytes in, load.RawReply bytes out.
package inside
