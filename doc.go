// Package samsa is a Kafka broker to import: one node, durable, on Apache Kafka's own files.
//
// # What it owns
//
// The composition of the house: Start turns a Config into a running Broker that is ready for any Kafka client
// when Start returns; Shutdown stops it cleanly. The samsa command's serve verb is a thin shell over it.
//
// # Data in and out
//
// In: Kafka's configuration names, clients' requests on the listeners. Out: directories that Apache Kafka
// opens, and log records to the Logger that was given.
//
// # Invariants
//
//   - SAM-1: no client is served before all logs, groups and metadata are loaded.
//   - SAM-2: the package never exits the process and never logs to a global logger.
//   - SAM-3: what Start began is undone when Start fails.
//
// # Concurrency
//
// A Broker's methods may be called from any goroutine; Shutdown may be called more than once.
//
// # Protocol
//
// docs/compat.md lists the APIs and versions that are served.
package samsa
