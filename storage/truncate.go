package storage

import (
	"fmt"
	"math"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// TruncateTo removes everything from offset o on, the whole batch that contains it included. At or above the log end
// only the leader epochs are trimmed (KAFKA-10706).
func (l *Log) TruncateTo(o record.Offset) error {
	defer l.tell()
	if o < 0 {
		return fmt.Errorf("%w: %v cannot be truncated to %d", ErrOffsetOutOfRange, l.o.TopicPartition, o)
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.unusable(); err != nil {
		return err
	}
	if err := l.saveSnapshotsHeld(); err != nil {
		return err
	}
	end, err := l.truncate(o)
	if err != nil {
		return err
	}
	if err := l.epochs.TruncateFromEnd(end); err != nil {
		return l.fail("recording the leader epochs", err)
	}
	return nil
}

// truncate returns the new log end.
func (l *Log) truncate(o record.Offset) (record.Offset, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return 0, err
	}
	list := l.list()
	if o >= l.LogEndOffset() {
		return l.LogEndOffset(), nil
	}
	if list[0].Base() > o {
		return o, l.restartLocked(o, o)
	}
	keep := floor(list, o) + 1
	s := list[keep-1]
	end, position := o, s.Size()
	loc, ok, err := s.Find(o, s.Size())
	if err != nil {
		return 0, l.readError(err)
	}
	if ok { // where o lies inside a batch, the log ends before it
		end, position = min(o, loc.Header.BaseOffset), loc.Position
	}
	// First nobody may see what is going to be cut; then later segments go, so that a crash leaves no gap.
	l.lowerLocked(&mark{offset: end, base: s.Base(), position: position})
	if err := l.dropLocked(list[keep:], list[:keep]); err != nil {
		return 0, err
	}
	s.SetUpper(math.MaxInt64)
	if _, err := s.TruncateTo(end, l.nowMs()); err != nil {
		return 0, l.fail("truncating", err)
	}
	return end, l.reloadProducersLocked(end)
}

// lowerLocked brings all offsets down to a log that ends at m.
func (l *Log) lowerLocked(m *mark) {
	l.cuts.note(m.offset)
	if l.hw.Load().offset >= m.offset {
		l.hw.Store(m)
	}
	l.end.Store(m)
	l.unstable.Store(nil)
	l.logStart.Store(min(l.logStart.Load(), int64(m.offset)))
	l.recoveryPoint.Store(min(l.recoveryPoint.Load(), int64(m.offset)))
	l.synced.Store(min(l.synced.Load(), int64(m.offset)))
}

// TruncateFullyAndStartAt removes everything and goes on at o, as a replica does that begins with a snapshot, or whose
// leader no longer has what it would need next.
func (l *Log) TruncateFullyAndStartAt(o record.Offset) error {
	defer l.tell()
	if o < 0 {
		return fmt.Errorf("%w: %v cannot start at %d", ErrOffsetOutOfRange, l.o.TopicPartition, o)
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.restart(o); err != nil {
		return err
	}
	if err := l.epochs.Clear(); err != nil {
		return l.fail("recording the leader epochs", err)
	}
	return nil
}

func (l *Log) restart(o record.Offset) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	return l.restartLocked(o, o)
}

// restartLocked replaces all segments by an empty one at o. The old files are renamed first, so that one of them may
// have had the same base.
func (l *Log) restartLocked(o, logStart record.Offset) error {
	list := l.list()
	l.cuts.note(min(o, list[0].Base()))
	if err := l.snapshots.RemoveIf(func(record.Offset) bool { return true }); err != nil {
		return l.fail("removing producer snapshots", err)
	}
	if err := l.dropLocked(list, list[len(list)-1:]); err != nil {
		return err
	}
	s, err := segment.Create(l.segmentOptions(o))
	if err != nil {
		return l.fail("creating a segment", err)
	}
	l.setList([]*segment.Segment{s})
	l.logStart.Store(int64(logStart))
	m := endOf(s, o)
	l.hw.Store(m)
	l.end.Store(m)
	l.recoveryPoint.Store(int64(o))
	l.synced.Store(int64(o))
	l.mu.unsaved = nil
	l.mu.producers = producer.New(l.o.ProducerExpiry)
	l.mu.producers.SetMapEnd(o)
	l.unstable.Store(nil)
	l.publishTxnsLocked()
	return nil
}

// reloadProducersLocked makes the producers' state what it was at end.
func (l *Log) reloadProducersLocked(end record.Offset) error {
	if err := l.snapshots.RemoveIf(func(o record.Offset) bool { return o > end }); err != nil {
		return l.fail("removing producer snapshots", err)
	}
	// From a snapshot at or below the high watermark, since none tells of transactions whose marker is not committed.
	state, err := l.producersAt(l.list(), min(end, l.hw.Load().offset), end)
	if err != nil {
		return l.fail("rebuilding the producers' state", err)
	}
	if err := l.recall(l.list(), state); err != nil {
		return l.fail("rebuilding the producers' state", err)
	}
	l.mu.producers = state
	l.mu.producers.HighWatermark(l.hw.Load().offset)
	l.publishTxnsLocked()
	return nil
}
