package storage

import (
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// aheadTolerance is how far producers' clocks may run ahead before anybody is told: what Kafka accepts by default
// (message.timestamp.after.max.ms). Such a segment expires that much later and no more.
const aheadTolerance = time.Hour

// HeldSegment is a sealed segment that keeps retention by time from going on: it is the oldest, and its largest
// timestamp lies far in the future, so neither it nor what follows can expire for longer than retention.ms. One record
// with microseconds where milliseconds belong does that for ages. The rule is Kafka's (KAFKA-6482, KAFKA-18929).
type HeldSegment struct {
	BaseOffset record.Offset
	Path       string
	// Timestamp is its largest, in ms.
	Timestamp int64
}

// Held is the segment that held up retention when it was at work last; false: none did.
func (l *Log) Held() (HeldSegment, bool) {
	if h := l.held.Load(); h != nil {
		return *h, true
	}
	return HeldSegment{}, false
}

// noteHeld looks at the oldest segment after retention has been at work, and tells once of each that holds it up.
func (l *Log) noteHeld() error {
	c, list := l.config.Load(), l.list()
	s := list[0]
	if !c.CleanupDelete || c.RetentionMs < 0 || len(list) == 1 {
		l.held.Store(nil)
		return nil
	}
	ts, err := s.LargestTimestamp()
	if err != nil {
		return l.readError(err)
	}
	if ts <= l.nowMs()+aheadTolerance.Milliseconds() {
		l.held.Store(nil)
		return nil
	}
	before := l.held.Swap(&HeldSegment{BaseOffset: s.Base(), Path: s.Path(), Timestamp: ts})
	if before == nil || before.BaseOffset != s.Base() {
		l.event(heldEvent(s, list[1].Base(), ts))
	}
	return nil
}

func heldEvent(s *segment.Segment, next record.Offset, ts int64) Event {
	return Event{Kind: RetentionHeld, File: s.Path(), Position: -1, Bytes: s.Size(), From: s.Base(), To: next, Until: time.UnixMilli(ts)}
}
