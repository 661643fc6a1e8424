// Package logdir is the directories (log.dirs) that hold the logs of a broker, and what is done to all logs at once.
//
// # What it owns
//
// The names and small files at the top level of each directory: .lock, meta.properties, the offset checkpoints, the
// clean-shutdown marker, partition directories and their -delete, -stray and -future forms. Loading and closing all
// logs in parallel, retention, the flusher, the threads of compaction and their checkpoint,
// moves between directories,
// delayed removal, and what happens when a directory fails.
//
// # Data in and out
//
// [Open] locks directories, [Manager.Load] opens the logs the caller wants and sets aside what nobody wants,
// [Manager.Create] and [Manager.Delete] follow the metadata, [Manager.Close] leaves the directories so that the next
// start can trust them. What a person should hear goes to Options.Observe.
//
// # Invariants
//
//   - DIR-1: a directory is used only while its .lock is held, by one process and by one Manager in it.
//   - DIR-2: the clean-shutdown marker is removed, durably, before the first log is opened, and written only after all
//     logs of the directory were closed without error and none of its partitions was left out of an unclean load.
//   - DIR-3: a checkpoint entry speaks of the log that is there now: before a log is created, entries that an earlier
//     log of that name left behind are gone from disk.
//   - DIR-4: a partition that exists, or may exist, in a directory that is offline is never created anew elsewhere.
//   - DIR-5: a partition's data is never unlinked except from a -delete directory; what is not understood stays.
//   - DIR-6: a failing partition or directory stops neither the others nor the background tasks.
//   - DIR-8: a directory without room (ErrShortage, ErrReserve) stays online. Clients' appends are refused, reading and
//     deleting go on, and what could not be opened is opened when there is room.
//   - DIR-9: a copy takes a log's place only when it is fsynced and has everything, and nothing is appended in between.
//   - DIR-7: no background task and no delayed function runs once logs are being closed.
//
// # Concurrency
//
// Create, CreateAll, Delete, Move, the end of a move and the begin of Close exclude each other and hold Manager.changes across file operations. Manager.mu guards the
// maps and is never held across I/O. Each checkpoint file is written under its directory's saving lock. Order:
// changes, saving, mu. Callbacks run under none of them, except that Observe may run under changes.
//
// # Format
//
// docs/formats/directory.md, docs/formats/checkpoints.md.
package logdir
