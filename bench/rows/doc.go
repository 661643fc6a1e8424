// Package rows has the rows of the table: one file for each group.
//
// # What it owns
//
// What is measured, against whom, and which marks it should reach. A new group is a file here with a function that
// returns its rows, and a line in All.
//
// # Data in and out
//
// In: a row.Turn. Out: figures.
//
// # Invariants
//
//   - ROWS-1: every peer of a row gets the same job in the same round.
//   - ROWS-2: a row whose means are missing says so with row.ErrSkip; it does not report something else.
//
// # Concurrency
//
// One turn at a time.
//
// # Protocol
//
// What package load speaks; the output of Apache Kafka's perf tools, of rdkafka_performance and of go test -bench.
package rows
