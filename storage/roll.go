package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Roll starts a new segment at the log end, unless the active one is empty.
func (l *Log) Roll() error {
	defer l.tell()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	return l.rollLocked(l.LogEndOffset())
}

// maybeRollLocked returns the segment that the append goes to (UnifiedLog.maybeRoll, LogSegment.shouldRoll).
func (l *Log) maybeRollLocked(a *appending) (*segment.Segment, error) {
	s := l.active()
	due, err := l.rollDueLocked(s, a)
	if err != nil {
		return nil, storageError(err) // a read failed; nothing was changed
	}
	if !due {
		return s, nil
	}
	if err := l.rollLocked(max(a.first, l.LogEndOffset())); err != nil {
		return nil, err
	}
	return l.active(), nil
}

func (l *Log) rollDueLocked(s *segment.Segment, a *appending) (bool, error) {
	if !s.Fits(a.last) {
		return true, nil
	}
	size := s.Size()
	if size == 0 {
		return false, nil
	}
	if size > int64(a.config.SegmentBytes)-int64(len(a.bytes)) || s.Full() {
		return true, nil
	}
	waited, err := s.Waited(a.maxTimestamp, a.nowMs)
	return waited > a.config.maxSegmentMs()-l.mu.jitterMs, err
}

// rollLocked seals the active segment and starts one at base. Nothing is fsynced here: that follows in the background.
func (l *Log) rollLocked(base record.Offset) error {
	old := l.active()
	if base < old.Base() || base == old.Base() && old.Size() > 0 {
		return fmt.Errorf("%w: a segment at %d cannot follow one at %d", ErrOutOfOrderAppend, base, old.Base())
	}
	if base == old.Base() {
		return nil // empty: it serves as well as a new one (KAFKA-6388)
	}
	// What needs room comes first, so that the old segment goes on if there is none.
	s, err := segment.Create(l.segmentOptions(base))
	if err != nil {
		return l.failUnlessShort("creating a segment", err)
	}
	if err := old.Seal(); err != nil {
		if drop := s.Discard(); drop != nil {
			return l.fail("removing an unused segment", drop)
		}
		return l.failUnlessShort("sealing a segment", err)
	}
	l.drawJitterLocked()
	old.SetUpper(base)
	l.setList(append(slices.Clone(l.list()), s))
	end := l.end.Load()
	l.end.Store(endOf(s, end.offset)) // the end has moved into the new file
	if hw := l.hw.Load(); hw.offset == end.offset {
		l.hw.CompareAndSwap(hw, l.end.Load())
	}
	p := l.mu.producers
	p.SetMapEnd(base)
	l.mu.unsaved = append(l.mu.unsaved, unsaved{base, p.Entries()})
	l.o.Delay(0, func() { l.afterRoll(base) })
	return nil
}

// unsaved is a snapshot of the producers at a base that has yet to be written.
type unsaved struct {
	at      record.Offset
	entries []producer.Entry
}

func (l *Log) drawJitterLocked() {
	c := l.config.Load()
	l.mu.jitterMs = 0
	if most := min(c.SegmentJitterMs, c.SegmentMs); most > 0 {
		l.mu.jitterMs = l.o.Rand(most)
	}
}

// afterRoll makes what lies before base durable.
func (l *Log) afterRoll(base record.Offset) {
	defer l.tell()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if l.unusable() == nil && l.hasSegment(base) {
		_ = l.flushHeld(base, false) // it has latched the log if it failed
	}
}

// saveSnapshots writes the snapshots that were taken at rolls.
func (l *Log) saveSnapshots() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.unusable(); err != nil {
		return err
	}
	return l.saveSnapshotsHeld()
}

// saveSnapshotsHeld is saveSnapshots when flushing is held and mu is not.
func (l *Log) saveSnapshotsHeld() error {
	l.mu.Lock()
	list := l.mu.unsaved
	l.mu.unsaved = nil
	l.mu.Unlock()
	for i, u := range list {
		if !l.hasSegment(u.at) {
			continue
		}
		err := l.writeSnapshot(u.at, u.entries)
		if errors.Is(err, fs.ErrNotExist) { // the directory is being deleted
			return err
		}
		if vfs.IsShortage(err) { // an unfinished new file is in nobody's way, not even if its fsync failed
			l.mu.Lock()
			l.mu.unsaved = append(slices.Clone(list[i:]), l.mu.unsaved...)
			l.mu.Unlock()
			return fmt.Errorf("%w: %w", errUnsaved, l.short("writing a producer snapshot", err))
		}
		if err != nil {
			return l.fail("writing a producer snapshot", err)
		}
	}
	return nil
}

// writeSnapshot encodes and saves the producers' state before offset o.
func (l *Log) writeSnapshot(o record.Offset, entries []producer.Entry) error {
	producer.Sort(entries)
	return l.snapshots.Write(o, producer.EncodeSnapshot(entries))
}

// unusable is usableLocked for whoever holds flushing only.
func (l *Log) unusable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usableLocked()
}

func (l *Log) hasSegment(base record.Offset) bool {
	list := l.list()
	i := floor(list, base)
	return i >= 0 && list[i].Base() == base
}

// floor returns the index of the last segment whose base is ≤ o, -1 if there is none.
func floor(list []*segment.Segment, o record.Offset) int {
	lo, hi := 0, len(list)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); list[mid].Base() <= o {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}
