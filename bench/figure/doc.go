// Package figure is what a run measured, and what can be said about it.
//
// # What it owns
//
// Samples, their file (JSON lines), medians and ranges, percentiles of latencies, marks that a figure should reach,
// and the same figures in the text format of Go benchmarks, which benchstat compares.
//
// # Data in and out
//
// In: values that rows measured. Out: summaries for the report, lines for the files.
//
// # Invariants
//
//   - FIG-1: a summary is the median of all rounds with the lowest and the highest; no round is left out.
//   - FIG-2: a ratio between two peers is the median of the ratios of the rounds, which were measured one right
//     after the other; where rounds do not pair, the ratio of the medians.
//
// # Concurrency
//
// None: values and functions.
//
// # Format
//
// Benchmark text: https://golang.org/design/14313-benchmark-format.
package figure
