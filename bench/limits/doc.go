// Package limits measures what the machine can do, so that a rate can be read as a share of it.
//
// # What it owns
//
// Writing into the page cache, fsync, reading warm and cold files, the loopback by writing and by sendfile, CRC-32C,
// copying memory, and unpacking zstd.
//
// # Data in and out
//
// In: a directory on the disk that the brokers use, and how many bytes to move. Out: figures.
//
// # Invariants
//
//   - LIM-1: each limit is measured with one thread, as one partition is written and one connection is served.
//
// # Concurrency
//
// One measurement at a time.
//
// # Format
//
// MB are 1,000,000 bytes.
package limits
