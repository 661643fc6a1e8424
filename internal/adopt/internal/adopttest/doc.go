// Package adopttest checks, for tests alone, what has become of directories that were adopted.
//
// # What it owns
//
// Single: whether directories are those of a cluster of one node. Churn: a metadata log whose beginning is in a snapshot.
//
// # Data in and out
//
// Directories in; the image of their metadata out.
//
// # Invariants
//
//   - ADT-1: whoever is told that a partition is in a directory finds it there, under the topic's id.
//
// # Concurrency
//
// None.
//
// # Format
//
// docs/formats/metadata-log.md.
package adopttest
