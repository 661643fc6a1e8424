// Package testdir gives the tests of package inspect and its neighbours directories in memory.
//
// # What it owns
//
// Directories in memory made of archives; putting, getting, damaging and comparing files in them.
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
// That of package testarchive.
package testdir
