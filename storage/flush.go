package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Flush makes everything below upTo durable. Whoever waits for a flush that is under way finds its own data covered
// by the next one: many waiters share one fsync.
func (l *Log) Flush(upTo record.Offset) error {
	defer l.tell()
	if err := l.flush(upTo, true); !errors.Is(err, errUnsaved) {
		return err
	}
	return nil // durable it is; what recovery begins with waits for room
}

// LastFlush is when the log was flushed last, or opened.
func (l *Log) LastFlush() time.Time { return time.UnixMilli(l.lastFlushMs.Load()) }

// flush flushes up to upTo; with more, up to the log end at the time when it gets to it.
func (l *Log) flush(upTo record.Offset, more bool) error {
	if upTo <= l.RecoveryPoint() {
		return nil
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.unusable(); err != nil {
		return err
	}
	return l.flushHeld(upTo, more)
}

// flushHeld does the work; flushing is held, mu is not. The producers come first, so that the recovery point never says
// that the log below a segment's base need not be read while the state at the base is not on disk.
func (l *Log) flushHeld(upTo record.Offset, more bool) error {
	from, end := l.RecoveryPoint(), l.end.Load()
	if upTo <= from {
		return nil // covered by the flush that was waited for
	}
	to := min(upTo, end.offset)
	if more {
		to = end.offset
	}
	unsaved := l.saveStateHeld(to)
	if unsaved != nil && !errors.Is(unsaved, errUnsaved) {
		return unsaved
	}
	list := l.list()
	newFile := false
	for i, s := range list {
		if s.Base() >= upTo && s.Base() >= to || i+1 < len(list) && list[i+1].Base() <= from {
			continue
		}
		if err := s.Sync(); err != nil {
			if l.gone(s, err) {
				continue
			}
			err = l.failUnlessShort("fsync", err)
			if !errors.Is(err, ErrShortage) || !vfs.IsFull(err) {
				return err
			}
			// The log itself is synced first and writes nothing, so only index entries found no room.
			unsaved = fmt.Errorf("%w: %w", errUnsaved, err)
		}
		newFile = newFile || s.Base() >= from && !s.Unchanged()
	}
	if newFile {
		if err := l.o.FS.SyncDir(l.Dir()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return l.failUnlessShort("fsync of the directory", err)
		}
	}
	l.synced.Store(int64(to))
	if unsaved != nil { // all is durable, but the recovery point must not say so before the state is saved
		return unsaved
	}
	for {
		rp := l.recoveryPoint.Load()
		if rp >= int64(to) || l.recoveryPoint.CompareAndSwap(rp, int64(to)) {
			break
		}
	}
	if to == end.offset {
		l.indexed = *end
	}
	l.lastFlushMs.Store(l.nowMs())
	return nil
}

// errUnsaved: there was no room for the producers' state or the leader epochs. Both can be found again in the log above
// the recovery point, which therefore must not rise.
var errUnsaved = fmt.Errorf("%w for what recovery begins with", ErrShortage)

// saveStateHeld saves what must be on disk before the recovery point may rise to an offset; flushing is held, mu is not.
func (l *Log) saveStateHeld(to record.Offset) error {
	if err := l.saveSnapshotsHeld(); err != nil {
		return err
	}
	err := l.epochs.Save(to)
	switch {
	case err == nil:
		return nil
	case vfs.IsShortage(err):
		return fmt.Errorf("%w: %w", errUnsaved, l.short("recording the leader epochs", err))
	default:
		return l.fail("recording the leader epochs", err)
	}
}

// gone reports whether err only says that the segment was deleted meanwhile.
func (l *Log) gone(s *segment.Segment, err error) bool {
	return (errors.Is(err, fs.ErrClosed) || errors.Is(err, fs.ErrNotExist)) && !slices.Contains(l.list(), s)
}
