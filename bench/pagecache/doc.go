// Package pagecache takes files out of the memory of the system, so that what reads them next reads the disk.
//
// # What it owns
//
// Evicting files, and knowing whether that worked.
//
// # Data in and out
//
// In: directories. Out: the share of their bytes that is still in memory. Other systems than Linux answer with
// errors.ErrUnsupported.
//
// # Invariants
//
//   - PGC-1: Evict returns nil only when at most a hundredth of the bytes is left in memory.
//
// # Concurrency
//
// Functions without state.
//
// # Format
//
// posix_fadvise(2), mincore(2), and /proc/sys/vm/drop_caches where files resist and the user is root.
package pagecache
