package storage

import (
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/segment"
)

// OffsetForTimestamp returns the first record, in log order, whose timestamp is at least ts; false if there is none.
func (l *Log) OffsetForTimestamp(ts int64) (TimestampOffset, bool, error) {
	defer l.tell()
	for attempt := 1; ; attempt++ {
		found, ok, err := l.offsetForTimestamp(ts)
		if err == nil || attempt == maxReadAttempts || !movedAway(err) || l.isClosed() {
			return found, ok, l.readError(err)
		}
	}
}

func (l *Log) offsetForTimestamp(ts int64) (TimestampOffset, bool, error) {
	o, _, _, end := l.bounds()
	for _, s := range l.list() {
		largest, err := s.LargestTimestamp()
		if err != nil {
			return TimestampOffset{}, false, err
		}
		if largest < ts {
			continue
		}
		found, ok, err := s.FindTimestamp(segment.TimeQuery{Timestamp: ts, From: o.LogStartOffset, End: l.visible(s, end),
			MaxRecord: l.config.Load().MaxDecompressedMessageBytes})
		if ok || err != nil {
			return TimestampOffset(found), ok, err
		}
	}
	return TimestampOffset{}, false, nil
}

// visible is how much of s lies below the log end.
func (l *Log) visible(s *segment.Segment, end *mark) int64 {
	if s.Base() == end.base {
		return end.position
	}
	return s.Size()
}

// MaxTimestampOffset returns the first record that has the largest timestamp; false if no record has one.
func (l *Log) MaxTimestampOffset() (TimestampOffset, bool, error) {
	defer l.tell()
	for attempt := 1; ; attempt++ {
		found, ok, err := l.maxTimestampOffset()
		if err == nil || attempt == maxReadAttempts || !movedAway(err) || l.isClosed() {
			return found, ok, l.readError(err)
		}
	}
}

func (l *Log) maxTimestampOffset() (TimestampOffset, bool, error) {
	largest, in := record.NoTimestamp, (*segment.Segment)(nil)
	for _, s := range l.list() {
		ts, _, err := s.MaxTimestamp()
		if err != nil {
			return TimestampOffset{}, false, err
		}
		if ts > largest {
			largest, in = ts, s
		}
	}
	if in == nil {
		return TimestampOffset{}, false, nil
	}
	found, ok, err := in.FindMax(l.config.Load().MaxDecompressedMessageBytes)
	return TimestampOffset(found), ok, err
}

// AssignLeaderEpoch records that epoch e begins at the log end, as a new leader does before its first append. It writes
// nothing: the batches of the epoch tell of it until the recovery point passes them, and then it is in the checkpoint
// (EPO-3). An epoch without a record is forgotten by the next start, as Kafka forgets it.
func (l *Log) AssignLeaderEpoch(e record.LeaderEpoch) error {
	defer l.tell()
	if err := l.unusable(); err != nil {
		return err
	}
	if err := l.epochs.Assign(e, l.LogEndOffset()); err != nil {
		return l.fail("recording the leader epoch", err)
	}
	return nil
}

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the largest known epoch that is at most e, and where it ended; (-1, -1)
// when e is above every known epoch.
func (l *Log) EndOffsetForEpoch(e record.LeaderEpoch) (record.LeaderEpoch, record.Offset) {
	return l.epochs.EndOffsetFor(e, l.LogEndOffset())
}

// LatestEpoch is the newest leader epoch.
func (l *Log) LatestEpoch() (record.LeaderEpoch, bool) {
	e, ok := l.epochs.Latest()
	return e.Epoch, ok
}

// EarliestEpochEntry is the oldest leader epoch and where it begins.
func (l *Log) EarliestEpochEntry() (epoch.Entry, bool) { return l.epochs.Earliest() }

// EpochForOffset is the leader epoch in which the record at o was appended.
func (l *Log) EpochForOffset(o record.Offset) (record.LeaderEpoch, bool) { return l.epochs.EpochFor(o) }

// LeaderEpochs is the whole history, oldest first; it must not be changed.
func (l *Log) LeaderEpochs() []epoch.Entry { return l.epochs.Entries() }
