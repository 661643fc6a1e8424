// Package view is what a group sees of the cluster metadata.
//
// # What it owns
//
// View: topics by name and id, racks. Hash, by which a group tells that topics it depends on have changed.
//
// # Data in and out
//
// In: an image of the metadata. Out: topics, and hashes that are stored in records of groups.
//
// # Invariants
//
//   - VIEW-1: Hash is Kafka's to the bit, whatever the topics: it is stored, and a group whose hash differs is
//     assigned anew.
//
// # Concurrency
//
// A View is immutable.
//
// # Format
//
// docs/formats/consumer-offsets.md.
package view
