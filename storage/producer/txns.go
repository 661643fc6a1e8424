package producer

import (
	"slices"

	"github.com/samsalog/samsa/record"
)

// txn is a transaction on this partition.
type txn struct {
	id    record.ProducerID
	first record.Offset
	// last is the offset of the end marker, -1 while there is none.
	last record.Offset
}

// CompletedTxn is a transaction whose end marker is being appended.
type CompletedTxn struct {
	ProducerID  record.ProducerID
	FirstOffset record.Offset
	// LastOffset is the end marker's.
	LastOffset record.Offset
	Aborted    bool
	// LastStableOffset is the smallest first offset of the other open transactions, else the offset after the marker.
	LastStableOffset record.Offset
}

// insertTxn keeps the list ordered by first offset; new transactions nearly always go to the end.
func insertTxn(list []txn, t txn) []txn {
	i := len(list)
	for i > 0 && list[i-1].first > t.first {
		i--
	}
	return slices.Insert(list, i, t)
}

// FirstUnstableOffset is where the earliest undecided transaction begins (PROD-3); false when there is none.
func (s *State) FirstUnstableOffset() (record.Offset, bool) {
	switch {
	case len(s.ongoing) == 0 && len(s.unreplicated) == 0:
		return record.NoOffset, false
	case len(s.ongoing) == 0:
		return s.unreplicated[0].first, true
	case len(s.unreplicated) == 0:
		return s.ongoing[0].first, true
	}
	return min(s.ongoing[0].first, s.unreplicated[0].first), true
}

// Unreplicated is how many ended transactions wait for the high watermark to pass their marker.
func (s *State) Unreplicated() int { return len(s.unreplicated) }

// HighWatermark tells that everything below hw is committed: transactions that ended there are decided.
func (s *State) HighWatermark(hw record.Offset) {
	s.unreplicated = slices.DeleteFunc(s.unreplicated, func(t txn) bool { return t.last < hw })
}

// LogStart tells that the log now begins at start: transactions that ended below are gone. Producers stay.
func (s *State) LogStart(start record.Offset) {
	s.unreplicated = slices.DeleteFunc(s.unreplicated, func(t txn) bool { return t.last < start })
	s.mapEnd = max(s.mapEnd, start)
}

// complete moves the transaction of c from ongoing to unreplicated and fills in c's last stable offset.
func (s *State) complete(c *CompletedTxn) {
	c.LastStableOffset = c.LastOffset + 1
	s.ongoing = slices.DeleteFunc(s.ongoing, func(t txn) bool { return t.id == c.ProducerID && t.first == c.FirstOffset })
	if len(s.ongoing) > 0 {
		c.LastStableOffset = s.ongoing[0].first
	}
	s.unreplicated = insertTxn(s.unreplicated, txn{id: c.ProducerID, first: c.FirstOffset, last: c.LastOffset})
}
