package storage

import (
	"errors"
	"path/filepath"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/epoch"
)

// Close ends the log in order: indexes get their final entry and are trimmed, everything is fsynced, the producers'
// state is saved. Only if it returns nil the directory may be called clean. A log that has failed is given up as it is.
func (l *Log) Close() error {
	defer l.tell()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.begin(); err != nil {
		return errors.Join(err, l.release())
	}
	err := l.save()
	return errors.Join(err, l.release())
}

// begin marks the log closed and seals the active segment.
func (l *Log) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		l.mu.closed = true
		return err
	}
	l.mu.closed = true
	if err := l.active().Seal(); err != nil {
		return l.failUnlessShort("sealing a segment", err)
	}
	return nil
}

// save makes a closed log durable; flushing is held. Nothing changes the log any more, so mu is needed for the
// producers only.
func (l *Log) save() error {
	end := l.LogEndOffset()
	if err := l.flushHeld(end+1, true); err != nil { // with the active segment even if it is empty
		return err
	}
	if end == 0 || l.snapshots.Has(end) {
		return nil
	}
	l.mu.Lock()
	entries := l.mu.producers.Entries()
	l.mu.Unlock()
	if err := l.writeSnapshot(end, entries); err != nil {
		return l.failUnlessShort("writing a producer snapshot", err)
	}
	if err := l.o.FS.SyncDir(l.Dir()); err != nil {
		return l.fail("fsync of the directory", err)
	}
	return nil
}

// release closes all files. Regions that are out stay readable.
func (l *Log) release() error {
	var err error
	for _, s := range l.list() {
		err = errors.Join(err, s.Close())
	}
	return err
}

// Abandon gives the log up without writing anything, as when its directory has failed.
func (l *Log) Abandon() {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closed = true
	_ = l.release() // there is nothing to lose that is not lost already
}

// Delete removes the log with its directory, whatever state it is in.
func (l *Log) Delete() error {
	l.Abandon()
	if err := l.o.FS.RemoveAll(l.Dir()); err != nil {
		return storageError(err)
	}
	return nil
}

// Rename moves the log's directory. Readers and writers go on.
func (l *Log) Rename(dir string) error {
	defer l.tell()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	old := l.Dir()
	err := l.o.FS.Rename(old, dir)
	if err == nil {
		l.dir.Store(&dir)
		for _, s := range l.list() {
			s.MovedTo(dir)
		}
		l.snapshots.Renamed(dir)
		l.epochs.Renamed(l.path(epoch.File))
	}
	l.mu.Unlock()
	if err != nil {
		return l.fail("renaming the directory", err)
	}
	if err := l.o.FS.SyncDir(filepath.Dir(dir)); err != nil {
		return l.fail("fsync of the parent directory", err)
	}
	return nil
}

// Handover stops appends, calls f with the log end, which stays as it is, and leaves the log closed for all changes if f
// succeeds: another log takes its place. If it does not, appends are taken again. Reads go on all the while; who appends
// meanwhile gets ErrClosed.
func (l *Log) Handover(f func(end record.Offset) error) error {
	defer l.tell()
	if err := l.setClosed(true); err != nil {
		return err
	}
	if err := f(l.LogEndOffset()); err != nil {
		_ = l.setClosed(false)
		return err
	}
	return nil
}

func (l *Log) setClosed(closed bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); closed && err != nil {
		return err
	}
	l.mu.closed = closed
	return nil
}

// moved is where a file that was in the directory is now.
func (l *Log) moved(path string) string { return filepath.Join(l.Dir(), filepath.Base(path)) }
