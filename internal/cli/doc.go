// Package cli is the command samsa: its verbs, flags, help, output and the words it uses when something
// goes wrong.
//
// # What it owns
//
// The command line and nothing behind it. serve is a thin shell over the root package samsa; topics,
// groups, produce, consume and bench speak only the Kafka protocol, so they work against any broker; dump,
// verify, explain, repair, scrub and adopt read files and need no broker.
//
// # Data in and out
//
// Main takes the arguments, the three standard streams and a context that ends when the person presses
// Ctrl-C, and returns the exit status: 0 done, 1 something went wrong, 2 the command line was wrong.
// Results go to standard output as a table or, with --json, as one JSON document (consume: one per line);
// everything addressed to the person goes to standard error.
//
// # Invariants
//
//   - CLI-1: standard output carries results only, so that it can be piped.
//   - CLI-2: an error says what happened and, where something can be done, what to do.
//   - CLI-3: nothing is changed by a command that fails to parse; verbs that rewrite offsets show their
//     plan first and act only with --execute.
//   - CLI-4: consume stops exactly at its bounds: --to is the first offset that is not printed, and a
//     group commits what was printed and nothing else.
//
// # Concurrency
//
// A command runs on the caller's goroutine. Goroutines of the Kafka client end before Main returns, because
// every command closes the clients it opened.
//
// # Format or protocol document
//
// The Kafka protocol, through franz-go. The columns of bench are those of kafka-producer-perf-test and
// kafka-consumer-perf-test of Apache Kafka 4.4 (org.apache.kafka.tools.ProducerPerformance and
// ConsumerPerformance); those of dump are Kafka's DumpLogSegments.
package cli
