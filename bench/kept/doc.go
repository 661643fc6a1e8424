// Package kept makes logs that look as if they had been kept for long, and changes what a directory says of them.
//
// # What it owns
//
// Sparse segments with valid batches and indexes, and the recovery points of a directory.
//
// # Data in and out
//
// In: the directory of a partition of a broker that is not running. Out: files of Apache Kafka's formats; a gigabyte
// costs four megabytes of disk.
//
// # Invariants
//
//   - KEPT-1: every batch is whole, with a right checksum, so that any reader takes it.
//   - KEPT-2: what a directory says of other partitions stays as it was.
//
// # Concurrency
//
// None.
//
// # Format
//
// Record batch version 2; offset index (relative offset, position); time index (timestamp, relative offset);
// recovery-point-offset-checkpoint (version 0, count, "topic partition offset").
package kept
