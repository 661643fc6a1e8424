// Package kfake stands in for franz-go's package of that name, so that the tests which that carries, many of them ported
// from Apache Kafka's, run against Samsa: a Cluster is a broker of its own, in a process of its own.
//
// # What it owns
//
// Cluster: a process of the binary that the environment names (SAMSA) with a fresh directory, and a client to look at it.
// GroupInfo is a group as it was at one moment, asked for by the protocol. There is nothing in here that only a fake could
// know.
//
// # Data in and out
//
// In: what franz-go's package takes, as far as a broker can be asked for it from outside: seeded topics, settings of the
// broker and of groups. Out: the address for a test's clients, leaders, groups; what the brokers log goes to a file of the
// environment's (SAMSA_TEST_LOG).
//
// # Invariants
//
//   - KFAKE-1: names and shapes are those of franz-go's package, so that its tests compile with a changed import alone. Tests
//     that want more, faults at a certain request for instance, do not compile with it and are left out.
//   - KFAKE-2: a Cluster is one broker, whatever number is asked for.
//   - KFAKE-3: Close ends the process and removes its directory.
//
// # Concurrency
//
// A Cluster may be used by many goroutines; Close comes once, when they are through.
//
// # Protocol
//
// Kafka's, as any client speaks it.
package kfake
