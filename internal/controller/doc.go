// Package controller decides what happens to the cluster: which topics exist, where their replicas are, who
// leads, what is configured. Its decisions are metadata records.
//
// # What it owns
//
// The rules of Apache Kafka's controller (ReplicationControlManager, ClusterControlManager,
// ConfigurationControlManager, ProducerIdControlManager) as far as one node needs them, with the order of their
// checks and the error codes that clients see. The records go into metadata.Store, which owns the state.
//
// # Data in and out
//
// In: kmsg requests, and calls of the broker that this process also is. Out: kmsg responses; errors are *Error,
// which carries Kafka's error code. When a call returns, what it did is on disk, in the image, and known to all
// publishers of the Store.
//
// # Invariants
//
//   - CTL-1: a decision is taken on the state after all earlier decisions, and written before any later one.
//   - CTL-2: what one request does to its topics is one batch: after a crash all of it is there or nothing.
//   - CTL-3: a producer id is handed out only after the record that reserves its block is on disk.
//   - CTL-4: a restart begins a new leader epoch for every partition that this node leads.
//
// # Concurrency
//
// All methods may be called from any goroutine; decisions are taken one at a time, waiting for the disk is shared.
//
// # Protocol
//
// docs/formats/metadata-log.md shows the records of each decision.
package controller
