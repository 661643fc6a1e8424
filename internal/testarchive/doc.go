// Package testarchive reads the archives of test data, and puts files into file systems, for tests alone.
//
// # What it owns
//
// Files: the entries of a tar.zst or tar.gz below some testdata directory. Unpack, Put, Get and SyncAll: files of a vfs.FS.
//
// # Data in and out
//
// In: the path of an archive on the host. Out: headers and contents, in the order of the archive; or files
// where the test wants them. What cannot be read fails the test.
//
// # Invariants
//
//   - TAR-1: an archive that cannot be read to its end fails the test; there is no fixture with a part missing.
//   - TAR-2: what Unpack, Put and SyncAll have put is durable, so that vfs.Mem.Crash makes a copy of it.
//
// # Concurrency
//
// None.
//
// # Format
//
// tar in zstd or gzip.
package testarchive
