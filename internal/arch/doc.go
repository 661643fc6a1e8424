// Package arch holds the shape of the house as tests, so that it does not depend on anybody's memory.
//
// # What it owns
//
// The storeys: which package may import which, each edge with the reason why it is there, and which modules
// of others each package may use. The house rules that a program can check.
//
// # Data in and out
//
// In: the Go files of this module, read as source, for every operating system at once. Out: test failures
// that name the file and the rule.
//
// # Invariants
//
//   - ARCH-1: an import points down the storeys, or sideways where edges.go draws it.
//   - ARCH-2: an edge that nobody uses any more is removed from edges.go.
//   - ARCH-3: the engine (record, vfs, storage and its parts, inspect) knows no wire messages, sockets, error
//     codes of the protocol, loggers or command line.
//
// # Concurrency
//
// None.
//
// # Format or protocol document
//
// ARCHITECTURE.md shows the same storeys as a picture.
package arch
