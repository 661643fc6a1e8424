package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
)

// logFailed hears of the first failed write or fsync of a log.
func (m *Manager) logFailed(e *entry, err error) {
	if e.leaving.Load() && errors.Is(err, fs.ErrNotExist) {
		return // a flush that lost the race with the deletion of its log (KAFKA-15391)
	}
	m.failDir(e.dir, err)
}

// failDir takes a directory offline, once. Its logs are given up without another write and the lock is let go, on a
// goroutine of its own: the caller may be inside one of these logs. If something has only run out it stays (DIR-8).
func (m *Manager) failDir(d *dir, err error) {
	if isShortage(err) {
		m.noteShort(d, err)
		return
	}
	if !d.fail(err) {
		return
	}
	m.spawn(func() {
		for _, e := range m.everything(d) {
			e.leaving.Store(true)
			e.log.Fail(err)
		}
		m.unlock(d)
		m.report(Event{Kind: DirFailed, Dir: d.path, Err: err})
		m.o.OnDirFailure(d.meta.DirectoryID, d.path, err)
	})
}

// spawn runs f in the background, for which Close waits. Once Close no longer waits nothing is left to be done.
func (m *Manager) spawn(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		m.background.Go(f)
	}
}

// wait ends the background.
func (m *Manager) wait() {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.background.Wait()
}

// unlock lets a directory go. The file is removed while it is still locked, so that nobody's fresh lock is removed;
// where an open file cannot be removed (Windows), right after.
func (m *Manager) unlock(d *dir) {
	d.saving.Lock()
	defer d.saving.Unlock()
	if d.lock == nil {
		return
	}
	gone := d.killed && !m.began.Load() // a directory that is refused stays as it was found
	gone = gone || m.o.FS.Remove(d.file(lockFile)) == nil
	_ = d.lock.Close() // the process may end now or go on: either way nobody uses the directory
	if !gone {
		_ = m.o.FS.Remove(d.file(lockFile))
	}
	d.lock = nil
}

// protect turns a panic of f into an error, so that one log's bug does not end the work on the others (DIR-6).
func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("bug: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
