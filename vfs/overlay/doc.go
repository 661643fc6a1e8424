// Package overlay is a file system over another one that it only reads: what is written goes to a scratch directory.
// So a broker can work on a directory that must not change by a byte.
//
// # What it owns
//
// The scratch directory: a journal of what was changed (names, and which bytes of which file), and the blobs with the
// changed bytes. The base is read through a [vfs.FS] and opened for reading only.
//
// # Data in and out
//
// [FS] is a vfs.FS over absolute paths of the host. A file is the base's until its first write. Then it is the base's
// first bytes, up to a limit, and a blob with all that follows: cutting a torn tail off a log of gigabytes records a
// number, appending to it copies nothing. A write below the limit copies the bytes between it and the limit. Regions of
// the base's part are sent from the base's file ([vfs.Layered]).
//
// # Invariants
//
//   - OVL-1: nothing in the base changes: no name, byte, mode or time of modification.
//   - OVL-2: after a crash of the scratch, what a plain file system would have kept is there: contents since File.Sync,
//     names since SyncDir. Changes of names survive as a beginning of what was done, so that more may be there.
//   - OVL-3: a scratch directory is used with the base that it was made over, and with no other state of it.
//   - OVL-4: no blob is removed before the journal that no longer names it is durable.
//
// # Concurrency
//
// Names are guarded by one lock, each file's layers by one of its own (first the names' lock, then the file's, then the
// journal's). Reading an open file takes none.
//
// # Format
//
// The journal is lines of a CRC-32 in hexadecimal, a blank, and a JSON object (see record); the first line that does not
// match ends it. It is written anew at each Open. The scratch directory belongs to Samsa alone; nothing else reads it.
package overlay
