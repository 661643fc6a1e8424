// Package longtest gives the tests that could go on for ever one common way to be asked for more.
//
// # What it owns
//
// The environment variable SAMSA_TEST_LONG and what it means: without it crash, fault and model tests take a share
// that keeps `go test ./...` short, with it they take all there is.
//
// # Data in and out
//
// In: the environment, and the flags of rapid if they were given. Out: how much to do, and how much was done, in the
// test's log.
//
// # Invariants
//
// LONG-1: what was done is printed (operations cut, faults injected, histories and their seed), so that a test that
// tests nothing is seen.
//
// # Concurrency
//
// Tests call it from their own goroutine; models that run in parallel wait for each other, since rapid's settings
// are those of the process.
//
// # Format
//
// SAMSA_TEST_LONG: empty or not set is short, anything else is long.
package longtest
