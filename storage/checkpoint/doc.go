// Package checkpoint reads and writes the small files beside the logs, byte for byte as Apache Kafka does.
//
// # What it owns
//
// The offset checkpoints of a log directory, the text frame they share with the leader epoch checkpoint,
// partition.metadata, the clean-shutdown marker, meta.properties, and the rule by which such a file is replaced.
//
// # Data in and out
//
// Values in, whole files out, and back. Nothing is cached.
//
// # Invariants
//
//   - CKP-1: a file written by [WriteAtomic] holds the old or the new content after a crash, never a mixture, and the
//     new one once WriteAtomic has returned nil.
//   - CKP-2: reading never panics and never allocates by a number that the file claims.
//   - CKP-3: what cannot be understood is an error that names file and line; it is never read as "no entries".
//
// # Concurrency
//
// Functions only. Two writers of one file at a time would share its .tmp: the owner of the file serialises.
//
// # Format
//
// docs/formats/checkpoints.md.
package checkpoint
