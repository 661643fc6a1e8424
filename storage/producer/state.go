package producer

import (
	"cmp"
	"slices"
	"time"

	"github.com/samsalog/samsa/record"
)

// State is what one partition knows of its producers.
type State struct {
	expiry   func() time.Duration
	entries  map[record.ProducerID]*entry
	verified map[record.ProducerID]*verification
	// guards counts verification guards given out; 0 is never one.
	guards int64
	// mapEnd is the offset up to which batches have been taken in: the name of a snapshot taken now.
	mapEnd record.Offset
	// ongoing and unreplicated hold transactions by rising first offset: those without end marker, and those whose end
	// marker is not below the high watermark yet.
	ongoing      []txn
	unreplicated []txn

	staged staging
}

// New returns an empty state; producers without an open transaction expire after being idle for expiry, which is asked
// whenever that is looked at.
func New(expiry func() time.Duration) *State {
	return &State{expiry: expiry, entries: map[record.ProducerID]*entry{}, verified: map[record.ProducerID]*verification{}}
}

// Fixed is an expiry that does not change.
func Fixed(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// MapEnd is the offset up to which batches have been taken in.
func (s *State) MapEnd() record.Offset { return s.mapEnd }

// SetMapEnd tells that everything below end has been taken in, also where there was no producer.
func (s *State) SetMapEnd(end record.Offset) { s.mapEnd = end }

// Len is the number of producers known.
func (s *State) Len() int { return len(s.entries) }

// Load replaces everything by what a snapshot of offset end holds, without producers that have expired by nowMs.
func (s *State) Load(end record.Offset, entries []Entry, nowMs int64) {
	clear(s.entries)
	s.ongoing, s.unreplicated = nil, nil
	s.mapEnd = end
	limit := s.expiry().Milliseconds()
	for _, x := range entries {
		e := restore(x)
		if e.expired(nowMs, limit) {
			continue
		}
		s.entries[x.ProducerID] = &e
		if e.txnFirstOffset >= 0 {
			s.ongoing = insertTxn(s.ongoing, txn{id: x.ProducerID, first: e.txnFirstOffset, last: record.NoOffset})
		}
	}
}

// Entries returns the newest state of every producer, in no order.
func (s *State) Entries() []Entry {
	out := make([]Entry, 0, len(s.entries))
	for id, e := range s.entries {
		out = append(out, e.snapshot(id))
	}
	return out
}

// Sort orders entries by producer id.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
}

// Expire forgets producers without an open transaction that have been idle for the expiry time, and verifications as
// old. It returns how many producers went.
func (s *State) Expire(nowMs int64) int {
	gone, limit := 0, s.expiry().Milliseconds()
	for id, e := range s.entries {
		if e.expired(nowMs, limit) {
			delete(s.entries, id)
			gone++
		}
	}
	for id, v := range s.verified {
		if nowMs-v.createdMs >= limit {
			delete(s.verified, id)
		}
	}
	return gone
}

func (e *entry) expired(nowMs, limitMs int64) bool {
	last := max(e.lastTimestamp, e.seenMs)
	return e.txnFirstOffset < 0 && nowMs-last >= limitMs
}

// Duplicate reports whether the batch repeats one of the producer's last five, and which. Only batches of clients are
// asked for: replication and coordinators never repeat.
func (s *State) Duplicate(h *record.Header) (Batch, bool) {
	e := s.entries[h.ProducerID]
	if e == nil || e.epoch != h.ProducerEpoch {
		return Batch{}, false
	}
	return e.find(h.BaseSequence, h.LastSequence())
}
