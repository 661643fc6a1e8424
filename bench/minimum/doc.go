// Package minimum is the least that can be called a broker: the limit that a real one is held against.
//
// # What it owns
//
// A server that reads a frame, checks the checksum of the batch, makes one write and answers. It has no index, no
// producer state, no epochs, no high watermark, no groups, and forgets everything when it ends. Fetches are sent
// by the kernel from the file (sendfile). Where a batch begins is remembered in memory, which a sequential reader
// needs; nothing else is.
//
// With OnlyAnswers it does not even check and write: what is left is the protocol, the network and the client.
//
// # Data in and out
//
// In: a directory, one file per partition is made there. Out: Kafka's protocol in the few versions that franz-go
// needs to produce and to consume without a group.
//
// # Invariants
//
//   - MIN-1: a fetch gets whole batches, starting with the one that holds the wanted offset.
//   - MIN-2: nothing is allocated by a size from the network before it was checked.
//
// # Concurrency
//
// One goroutine per connection; one lock per partition around offset and write.
//
// # Protocol
//
// ApiVersions, Metadata, CreateTopics, DeleteTopics, InitProducerId, ListOffsets, Produce 3–12, Fetch 12.
package minimum
