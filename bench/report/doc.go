// Package report writes down what a run found: a page, plots, and lines for benchstat.
//
// # What it owns
//
// The page docs/bench.md with the marks that were reached and missed, a table for each group of rows, and a plot for
// the figures that matter most.
//
// # Data in and out
//
// In: a figure.Table, marks, and what people had to say about groups (docs/bench/notes.md). Out: Markdown and SVG.
//
// # Invariants
//
//   - REP-1: every row and every peer that has figures is on the page; losing rows are printed like winning ones, and
//     what was left out is there with its reason.
//
// # Concurrency
//
// None.
//
// # Format
//
// Markdown with tables; SVG 1.1 without scripts or fonts of its own.
package report
