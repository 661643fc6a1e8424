// Package load is the client: a process of its own that puts a broker under load and says what it saw.
//
// # What it owns
//
// Jobs (produce, consume, latency, one record at a time, many connections, writing to disk beside a broker) and the
// process in which one runs. The client is franz-go, for JetStream nats.go; it is the same process against every peer.
//
// # Data in and out
//
// In: a Job as JSON on standard input. Out: a Result as JSON on standard output.
//
// # Invariants
//
//   - LOAD-1: a job that lost, refused or missed a record fails; it never reports a rate.
//   - LOAD-2: connections, metadata and producer ids are there before the clock starts.
//   - LOAD-3: a latency counts from when the record was due. A client that is held up by the broker does not hide it
//     by sending later; what only its own timer was late does not count.
//
// # Concurrency
//
// One job per process.
//
// # Protocol
//
// Kafka's through kgo, without consumer groups: not every peer has them.
package load
