// Package interop holds tests that drive a broker with other people's Go clients: sarama, kafka-go,
// confluent-kafka-go (librdkafka) and franz-go. It is a module of its own so that the project's go.mod stays
// short and needs no C compiler.
//
// # What it owns
//
// A table of records that are hard to carry unchanged (nulls, empty and binary bytes, repeated headers, old
// and new timestamps, 5 MB), written by each client with each codec and read back by each client, byte for
// byte; consumer groups of each client through rebalances; resuming after a restart of the broker; every
// protocol version that sarama can be pinned to.
//
// # Data in and out
//
// The tests start a broker of their own in the process. With BROKER=host:port in the environment they use
// that one instead, for example Apache Kafka, which is how the tests themselves are tested; what needs a
// restart is skipped then.
//
// Two commands lie beside them: hang leaves a hanging transaction behind for the tools to find, heartbeats measures
// what many groups take.
//
// # Invariants
//
//   - IOP-1: a test compares bytes, never counts alone.
//   - IOP-2: nothing waits for a fixed time: a wait ends with what it waits for or fails at its deadline.
//
// # Concurrency
//
// Tests share a broker and use topics and groups of their own.
//
// # Protocol
//
// What each client makes of Kafka's protocol.
package interop
