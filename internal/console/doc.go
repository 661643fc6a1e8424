// Package console is the node's small HTTP face for machines: is it alive, is it ready, what does it count.
//
// # What it owns
//
// One HTTP server with three pages, /livez, /readyz and /metrics, and the profiles of the Go runtime where they are asked for. It starts before anything else of the broker, so that
// whoever watches the process sees from the first moment that it lives, and how far loading is.
//
// # Data in and out
//
// In: [Node], which the console asks whenever a page is. Out: JSON and Prometheus text. Nothing can be changed here.
//
// # Invariants
//
//   - CON-1: /livez answers 200 as long as the process can answer at all; loading and recovery do not change it.
//   - CON-2: /readyz answers 200 only while clients are served, 503 with the progress otherwise.
//   - CON-3: a page never waits for a lock that is held across I/O, so it answers while a disk hangs.
//
// # Concurrency
//
// Pages are served concurrently; Node's methods are called from any of their goroutines.
//
// # Format
//
// docs/console.md lists the pages and metrics.
package console
