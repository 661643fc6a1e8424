// Package testarchive reads the archives of test data, for tests alone.
//
// # What it owns
//
// Files: the entries of a tar.zst below some testdata directory.
//
// # Data in and out
//
// In: the path of an archive on the host. Out: headers and contents, in the order of the archive; where they go is the test's
// affair. What cannot be read fails the test.
//
// # Invariants
//
//   - TAR-1: an archive that cannot be read to its end fails the test; there is no fixture with a part missing.
//
// # Concurrency
//
// None.
//
// # Format
//
// tar in zstd.
package testarchive
