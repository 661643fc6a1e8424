// Command bench compares Samsa with Apache Kafka in one run and prints a table in Markdown.
//
// # What it owns
//
// The cases, their order, and the statistics. It measures with tools that exist outside of it: samsa bench and
// Kafka's own kafka-producer-perf-test and kafka-consumer-perf-test, each against both brokers, so that
// neither broker is judged by one client alone.
//
// # Data in and out
//
// In: a directory of Apache Kafka's jars (scripts/interop.sh install makes one), a Go toolchain and a JVM. Both
// brokers run on this machine with data below -dir. Out: the table on standard output, progress on standard
// error.
//
// # Invariants
//
//   - BEN-1: the brokers take turns, one idle while the other is measured; the first round is thrown away,
//     because it pays for fresh memory and cold code.
//   - BEN-2: every figure is a median of the rounds with its range; losing rows are printed like winning ones.
//   - BEN-3: a consumer reads exactly what a producer of the same round wrote.
//
// # Concurrency
//
// One measurement at a time.
//
// # Protocol
//
// The lines of org.apache.kafka.tools.ProducerPerformance and ConsumerPerformance of Apache Kafka 4.4.
package main
