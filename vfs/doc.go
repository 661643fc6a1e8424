// Package vfs is the door between the engine and the disk: every byte that is read or written passes here.
//
// # What it owns
//
// The interfaces [FS] and [File]; three file systems behind them: the host's ([NewOS]), one in memory that can be
// cut like a power failure ([NewMem], [Mem.Crash]), and one that fails on demand ([NewFault]); [Region], a file range
// that can be sent to a client; and [Handles], which bounds the number of open descriptors.
//
// # Data in and out
//
// Paths in, positional reads and writes through. Nothing is buffered here: a WriteAt that returned is in the file
// system's cache, a Sync that returned is on the device.
//
// # Invariants
//
//   - VFS-1: after [Mem.Crash] a file holds what its last Sync saw, and a directory lists what its last SyncDir saw.
//   - VFS-2: [Mem.CrashKeeping] may keep more than that, never less, and is a function of its seed alone.
//   - VFS-3: a [Handle] is never closed between Acquire and Release, not even when its owner closes it.
//   - VFS-4: no more than max descriptors of a [Handles] are open, except for those that are all acquired at once.
//   - VFS-5: of two Locks of one file at most one succeeds, also inside one process.
//
// # Concurrency
//
// FS, File and Handles may be used by any number of goroutines. Acquire and Release of an open handle are two atomic
// operations each and take no lock. Lock order: Handle.mu before Handles.mu; the evictor, which goes the other way,
// only ever tries a Handle's lock.
//
// # Format
//
// None of its own. File names and contents belong to the rooms above.
package vfs
