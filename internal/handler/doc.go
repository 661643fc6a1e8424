// Package handler answers Kafka's requests: one file per API, named by its key.
//
// # What it owns
//
// The table of APIs and versions (routes.go), the table from errors to Kafka's error codes (errors.go), and for each
// API the way from a decoded request to calls of the rooms below and back to a response. Decisions are made
// elsewhere: topics by the controller, records by replicas and their logs, groups by the coordinator.
//
// # Data in and out
//
// In: a wire.Request with its kmsg body. Out: a wire.Reply with a kmsg response, or for Fetch with encoded pieces and
// file regions.
//
// # Invariants
//
//   - HND-1: what ApiVersions lists is served, and in the versions it says, with one exception that Apache Kafka has
//     too: Produce is listed from version 0 and served from 3.
//   - HND-2: one request sees one metadata image, unless it waits.
//   - HND-3: every topic and partition asked of a data API is answered, also when all of it is refused.
//   - HND-4: responses are made with kmsg's New and Default functions: a field whose default is not zero is never
//     left at zero by forgetting it.
//
// # Concurrency
//
// A Handler is used by all connections at once and has no state of its own but fetch sessions.
//
// # Protocol document
//
// docs/protocol.md.
package handler
