// Package record is Kafka's record batch: reading, building, validating, compressing.
//
// # What it owns
//
// The bytes of record batches (magic 2) and of the older message sets (magic 0 and 1, reading only), the
// five codecs, control records, the checks that a leader makes before it appends, and the named numbers
// (Offset, LeaderEpoch, ProducerID …) that every other room speaks in.
//
// # Data in and out
//
// Byte slices in, views out. A Batch is the slice it was cut from, never a copy. A Record of an
// uncompressed batch points into that slice; a Record of a compressed batch is lent until the next call of
// Next. There is no I/O here.
//
// # Invariants
//
//   - REC-1: no input makes this package panic, and nothing is allocated by a size that was only claimed:
//     memory grows with the bytes that are really there.
//   - REC-2: base offset, length, leader epoch and magic lie outside the CRC, so assigning offsets never
//     touches the payload. Every change inside the CRC's range recomputes it.
//   - REC-3: validating an uncompressed batch allocates nothing per record; validating a compressed one holds
//     one window of its stream, whatever it expands to.
//   - REC-4: what the Builder writes is what Kafka's own readers accept: varints minimal, attribute bits 7–15
//     zero, codec streams closed.
//
// # Concurrency
//
// Values are not synchronised: a Batch that is being changed has one owner. Functions may be called
// concurrently. Encoders and decoders are pooled for the whole process; the pools are the only package
// state, and nothing that a caller can observe depends on it.
//
// # Format
//
// docs/formats/record-batch.md.
package record
