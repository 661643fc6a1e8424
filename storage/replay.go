package storage

import (
	"errors"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// producersAt returns the producers' state before offset end: the newest snapshot at or below upTo that can be read, and
// the batch headers between it and end.
func (l *Log) producersAt(list []*segment.Segment, upTo, end record.Offset) (*producer.State, error) {
	state := producer.New(l.o.ProducerExpiry)
	entries, from, ok, err := l.snapshots.LoadNewest(upTo, func(path string, err error) {
		l.event(Event{Kind: SnapshotDiscarded, File: path, Err: err})
	})
	if err != nil {
		return nil, err
	}
	if ok {
		state.Load(from, entries, l.nowMs())
	} else {
		from = list[0].Base()
	}
	for _, s := range list[max(0, floor(list, from)):] {
		if s.Base() >= end {
			break
		}
		loc, ok, err := s.Find(max(from, s.Base()), s.Size())
		if err != nil && !errors.Is(err, record.ErrCorruptBatch) {
			return nil, err
		}
		if !ok {
			continue
		}
		limit := s.Size()
		if behind, ok, err := s.Find(end, s.Size()); err == nil && ok {
			limit = behind.Position
		}
		if err := replay(state, s, loc.Position, limit, nil); err != nil {
			return nil, err
		}
	}
	state.SetMapEnd(end)
	return state, nil
}

// replay lets the batches in the bytes from … limit-1 of s change the state. Damage ends it: what cannot be read has no
// effect, and recovery or a reader reports it. Aborted transactions go into the index of into, unless that is nil.
func replay(state *producer.State, s *segment.Segment, from, limit int64, into *segment.Segment) error {
	sc, err := s.Scan(from, limit)
	if err != nil {
		return err
	}
	defer sc.Close()
	for sc.Next() {
		if !sc.Header().HasProducerID() {
			continue
		}
		marker, err := sc.ReadMarker()
		if err != nil {
			marker = nil
		}
		if err := absorb(state, sc.Header(), marker, into); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil && !errors.Is(err, record.ErrCorruptBatch) {
		return err
	}
	return nil
}

// Budget of recall: headers are read for at most this much of disk, however long the log is. A page counts whole.
const (
	recallBase        = 64 << 10
	recallPerProducer = 64 << 10
	recallMax         = 4 << 20
)

// recall finds the batches that snapshots leave out, so that any of the last five batches of a producer is still
// recognised as a duplicate after a restart. It goes back from the newest one looked for, in windows that are
// bounded by index entries and grow.
func (l *Log) recall(list []*segment.Segment, state *producer.State) error {
	r := state.Recall()
	budget := min(recallBase+int64(r.Wanted())*recallPerProducer, recallMax)
	step := 1
	end := record.Offset(-1) // everything from here on was shown
	for r.Wanted() > 0 && budget > 0 {
		before := r.Before()
		if end >= 0 {
			before = min(before, end)
		}
		i := floor(list, before-1)
		if i < 0 {
			return nil
		}
		next, cost, err := recallWindow(r, list[i], before, step)
		if errors.Is(err, record.ErrCorruptBatch) {
			return nil // only what lies behind the damage can be recalled
		}
		if err != nil {
			return err
		}
		r.EndWindow()
		end, budget, step = next, budget-cost, step*2
	}
	return nil
}

// recallWindow shows the batches before an offset, as many as step index entries stand for. It returns the offset at
// which the window begins.
func recallWindow(r *producer.Recall, s *segment.Segment, before record.Offset, step int) (next record.Offset, cost int64, err error) {
	from, err := s.Back(before, step)
	if err != nil {
		return 0, 0, err
	}
	sc, err := s.Scan(from, s.Size())
	if err != nil {
		return 0, 0, err
	}
	defer sc.Close()
	next = s.Base()
	for first := true; sc.Next() && sc.Header().LastOffset() < before; first = false {
		if first && from > 0 {
			next = sc.Header().BaseOffset
		}
		r.Show(sc.Header())
	}
	return next, sc.Cost(), sc.Err()
}
