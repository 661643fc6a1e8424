// Package proc asks the system what a process has cost.
//
// # What it owns
//
// Processor time, memory and bytes to and from disk of any process, and the number of its system calls, which perf counts.
//
// # Data in and out
//
// In: the number of a process. Out: numbers. Other systems than Linux answer with errors.ErrUnsupported.
//
// # Invariants
//
//   - PROC-1: what the system does not tell is an error, never 0.
//
// # Concurrency
//
// Functions without state.
//
// # Format
//
// proc(5): stat, status, io.
package proc
