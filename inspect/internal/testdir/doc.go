// Package testdir gives the tests of package inspect and its neighbours directories in memory.
//
// # What it owns
//
// Unpacking archives of directories that Apache Kafka wrote, and putting, getting and comparing files.
//
// # Data in and out
//
// Archives in testdata in; vfs.Mem out. What fails ends the test.
//
// # Invariants
//
//   - TDR-1: what a function has put is durable, so that vfs.Mem.Crash makes a copy of it.
//
// # Concurrency
//
// None of its own.
//
// # Format
//
// tar.gz, as tar(1) makes them.
package testdir
