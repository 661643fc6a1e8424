// Package stored holds the codecs of everything that Kafka stores in its own encoding: metadata records,
// KRaft control records, the keys and values of the coordinator topics, remote log metadata.
//
// # What it owns
//
// One Go struct per schema of schemas.json (read from the classes of Apache Kafka 4.4), generated into the
// *_gen.go files, and the frames in which those records stand in a log: metadata records (frame.go) and
// coordinator keys and values (coordinator.go).
//
// # Data in and out
//
// Decode takes bytes and a version and gives the rest; AppendTo is its inverse; AppendJSON writes what Kafka's
// dump tool prints. New functions return a struct with the schema's defaults, which are not always zero.
//
//   - string is a string, a nullable one is a *string; bytes are a []byte, nil is null where null is allowed;
//   - an array is a slice; where the schema allows null, nil is null and an empty slice is empty;
//   - a nullable structure is a pointer.
//
// # Invariants
//
//   - STORED-1: nothing is allocated by a length or count before it was compared with the bytes that are left.
//   - STORED-2: decoding and encoding again at the same version gives the same bytes, unknown tagged fields
//     included, for everything that Kafka writes.
//   - STORED-3: a decoded structure does not alias the bytes it was read from.
//
// # Concurrency
//
// Plain values: whoever shares one does not change it.
//
// # Format
//
// The encodings are those of Kafka's protocol guide; docs/formats/metadata-log.md describes the frames.
package stored

//go:generate go run ./gen -schemas schemas.json -out .
