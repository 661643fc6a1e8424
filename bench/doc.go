// Command bench measures Samsa beside Apache Kafka and others, and what the machine could do.
//
// # What it owns
//
// The flags, the profiles (quick, ordinary, all), building Samsa's revisions, and where results go. What is measured is
// in package rows; how, in package run; what it is measured with, in package load.
//
// # Data in and out
//
// In: Samsa's source tree, jars of Apache Kafka where there are any. Out: results as JSON lines, docs/bench.md with its
// plots, or two files for benchstat.
//
// The program calls itself: "load" is the client process, "serve" one of the peers that are part of it.
//
// # Invariants
//
//   - BEN-1: everything it starts has ended when it ends, and its directories are gone.
//   - BEN-2: results are written as they come; a page can be made from them later ("report").
//
// # Concurrency
//
// One measurement at a time.
//
// # Format
//
// JSON lines: package figure.
package main
