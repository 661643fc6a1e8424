package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// DeleteRecords raises the log start to o, which must not be above the high watermark. Reads below it fail from then on;
// the files go with the next DeleteOldSegments.
func (l *Log) DeleteRecords(o record.Offset) error {
	defer l.tell()
	raised, err := l.raiseLogStart(o)
	if err != nil || !raised {
		return err
	}
	l.epochs.TruncateFromStart(o)
	return nil
}

func (l *Log) raiseLogStart(o record.Offset) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return false, err
	}
	if hw := l.HighWatermark(); o < 0 || o > hw {
		return false, fmt.Errorf("%w: records of %v can be deleted up to %d, not to %d", ErrOffsetOutOfRange, l.o.TopicPartition, hw, o)
	}
	if o <= l.LogStartOffset() {
		return false, nil
	}
	l.raiseLogStartLocked(o)
	return true, nil
}

// DeleteOldSegments removes the segments that retention no longer keeps, oldest first, and returns how many: what lies
// below the log start; and, unless the topic is only compacted, what exceeds retention.bytes or retention.ms. Files are
// renamed now and unlinked after file.delete.delay.ms.
func (l *Log) DeleteOldSegments() (int, error) {
	defer l.tell()
	// A first look at sealed segments reads files: not under the lock.
	if c := l.config.Load(); c.CleanupDelete && c.RetentionMs >= 0 {
		if err := l.warmTimestamps(l.nowMs() - c.RetentionMs); err != nil {
			return 0, l.readError(err)
		}
	}
	// What is deleted cannot be read again for the producers' state, so that has to be on disk first.
	limit := record.Offset(math.MaxInt64)
	if err := l.saveSnapshots(); errors.Is(err, ErrShortage) {
		limit = l.savedState() // deleting is what makes room, so what can go goes
	} else if err != nil {
		return 0, err
	}
	deleted, start, err := l.deleteOld(limit)
	if err == nil && deleted > 0 {
		l.epochs.TruncateFromStart(start)
	}
	if err == nil {
		err = l.noteHeld()
	}
	return deleted, err
}

// warmTimestamps loads the largest timestamps of the oldest segments, as far as they can be expired.
func (l *Log) warmTimestamps(before int64) error {
	for _, s := range l.list() {
		ts, err := s.LargestTimestamp()
		if errors.Is(err, fs.ErrClosed) || errors.Is(err, fs.ErrNotExist) {
			return nil // deleted meanwhile
		}
		if err != nil || ts >= before {
			return err
		}
	}
	return nil
}

// savedState is the newest offset at which the producers' state is on disk.
func (l *Log) savedState() record.Offset {
	if offsets := l.snapshots.Offsets(); len(offsets) > 0 {
		return offsets[len(offsets)-1]
	}
	return 0
}

// deleteOld deletes the expired segments that end at or below limit.
func (l *Log) deleteOld(limit record.Offset) (int, record.Offset, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return 0, 0, err
	}
	n, err := l.expiredLocked()
	if err != nil {
		return 0, 0, storageError(err)
	}
	if limit <= l.LogEndOffset() {
		n = min(n, max(0, floor(l.list(), limit)))
	}
	if n == len(l.list()) { // one always remains
		if err := l.rollLocked(l.LogEndOffset()); errors.Is(err, ErrShortage) {
			n-- // the last one has to serve until the others have made room
		} else if err != nil {
			return 0, 0, err
		}
	}
	if n == 0 {
		return 0, 0, nil
	}
	list := l.list()
	start := max(list[n].Base(), l.LogStartOffset())
	if start > l.LogStartOffset() {
		l.raiseLogStartLocked(start)
	}
	if err := l.dropLocked(list[:n], list[n:]); err != nil {
		return 0, 0, err
	}
	return n, start, nil
}

// expiredLocked counts the oldest segments that some rule lets go. A segment goes only if all of it is committed; an
// empty last one stays.
func (l *Log) expiredLocked() (int, error) {
	c, list := l.config.Load(), l.list()
	hw, nowMs := l.HighWatermark(), l.nowMs()
	excess := int64(-1)
	if c.CleanupDelete && c.RetentionBytes >= 0 {
		excess = l.SizeInBytes() - c.RetentionBytes
	}
	for i, s := range list {
		upper := l.LogEndOffset()
		if i+1 < len(list) {
			upper = list[i+1].Base()
		}
		if hw < upper || i+1 == len(list) && s.Size() == 0 {
			return i, nil
		}
		switch {
		case i+1 < len(list) && upper <= l.LogStartOffset():
		case excess >= s.Size():
		default:
			old, err := expired(c, s, nowMs)
			if !old || err != nil {
				return i, err
			}
		}
		excess -= s.Size()
	}
	return len(list), nil
}

func expired(c *Config, s *segment.Segment, nowMs int64) (bool, error) {
	if !c.CleanupDelete || c.RetentionMs < 0 {
		return false, nil
	}
	ts, err := s.LargestTimestamp()
	return nowMs-ts > c.RetentionMs, err
}

// dropLocked takes segments out of the log: readers stop seeing them, then the files are renamed, and unlinked later.
func (l *Log) dropLocked(drop, keep []*segment.Segment) error {
	l.setList(slices.Clone(keep))
	return l.retireLocked(drop, func(record.Offset) bool { return false })
}

// unlink removes files that were renamed before. After the log was closed they wait for the next start; if the directory
// has moved meanwhile they are looked for there.
func (l *Log) unlink(segments []*segment.Segment, paths []string) {
	defer l.tell()
	for _, s := range segments {
		_ = s.Close() // nothing is written to it any more
	}
	if l.unusable() != nil {
		return
	}
	for _, path := range paths {
		if err := l.o.FS.Remove(l.moved(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = l.fail("unlinking a deleted segment", err)
			return
		}
	}
}
