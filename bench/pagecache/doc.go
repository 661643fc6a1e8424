// Package pagecache takes files out of the memory of the system, so that what reads them next reads the disk, or brings them there.
//
// That a file was written or read a while ago does not say that it is there: a system may take pages that nobody has used for a
// minute. A few missing ones cost the next reader a wait each, and the peer whose turn comes first pays.
//
// # What it owns
//
// Evicting and filling in files, and knowing whether that worked.
//
// # Data in and out
//
// In: directories. Out: the share of their bytes that is still in memory. Other systems than Linux answer with
// errors.ErrUnsupported.
//
// # Invariants
//
//   - PGC-1: Evict returns nil only when at most a hundredth of the bytes is left in memory.
//   - PGC-2: after Fill all bytes were in memory at some moment since it began, and nothing of it took them out again.
//
// # Concurrency
//
// Functions without state.
//
// # Format
//
// posix_fadvise(2), mincore(2), and /proc/sys/vm/drop_caches where files resist and the user is root.
package pagecache
