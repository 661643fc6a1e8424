package storage

import (
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// recovering is one segment that is being recovered.
type recovering struct {
	ld    *loading
	s     *segment.Segment
	state *producer.State
	// next is the offset after the last valid batch.
	next record.Offset
	// torn: bytes were cut. kept: damage that may not be cut ends the segment.
	torn, kept bool
	// gaps: offsets are missing between batches.
	gaps bool
	// empty: there is not a byte to look at.
	empty bool
}

// run recovers the segment from a batch boundary on and seals it.
func (r *recovering) run(pos int64, from record.Offset) error {
	r.next = from
	if r.empty {
		r.state.SetMapEnd(from)
		return nil
	}
	rec, err := r.s.StartRecovery(pos, from)
	if err != nil {
		return err
	}
	defer rec.Close()
	for {
		for rec.Next() {
			if err := r.take(rec); err != nil {
				return err
			}
		}
		r.next = rec.NextOffset()
		if rec.Err() != nil {
			return rec.Err()
		}
		more, err := r.damaged(rec)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	r.state.SetMapEnd(r.next)
	if r.kept {
		return r.s.SealDamaged()
	}
	return r.s.Seal()
}

// take lets one valid batch have its effects.
func (r *recovering) take(rec *segment.Recovery) error {
	h := rec.Header()
	r.ld.l.o.Recovered(h.SizeInBytes)
	r.gaps = r.gaps || h.BaseOffset > r.next
	r.next = h.NextOffset()
	if h.LeaderEpoch >= 0 && h.LastOffset() >= r.ld.logStart {
		r.ld.l.epochs.Relearn(h.LeaderEpoch, max(h.BaseOffset, r.ld.logStart))
	}
	marker, err := rec.Marker()
	if err != nil {
		marker = nil // a marker that cannot be read ends nothing; the batch is sound, so it stays
	}
	return absorb(r.state, h, marker, r.s)
}

// absorb lets a batch of the log change the producers' state, and index its aborted transaction in s unless that is nil.
func absorb(state *producer.State, h *record.Header, marker *record.EndTxnMarker, s *segment.Segment) error {
	if err := state.Stage(h, marker, producer.Rules{Source: producer.FromLog}); err != nil {
		state.Discard()
		return err
	}
	for _, t := range state.Commit(h.NextOffset(), 0) {
		if !t.Aborted || s == nil {
			continue
		}
		if err := s.AppendAborted(abortedTxn(t)); err != nil {
			return err
		}
	}
	return nil
}

func abortedTxn(t producer.CompletedTxn) index.AbortedTxn {
	return index.AbortedTxn{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset, LastOffset: t.LastOffset, LastStableOffset: t.LastStableOffset}
}

// damaged decides what becomes of bytes that are no valid batch (LOG-6): cut at or above the recovery point, kept below
// it. more tells that there are valid batches behind.
func (r *recovering) damaged(rec *segment.Recovery) (more bool, err error) {
	l, d := r.ld.l, rec.Damage()
	if d == nil {
		return false, nil
	}
	if d.Expected >= r.ld.recoveryPoint && !r.ld.l.o.Clean {
		bytes, err := rec.Cut()
		if err != nil {
			return false, err
		}
		r.torn = true
		l.event(Event{Kind: TailCut, File: r.s.Path(), Position: d.Position, Bytes: bytes,
			From: d.Expected, To: record.NoOffset, Err: d.Reason})
		return false, nil
	}
	behind, to, ok, err := rec.Skip()
	if err != nil {
		return false, err
	}
	if !ok {
		to = max(to, r.ld.recoveryPoint)
		r.kept = true
	}
	l.event(Event{Kind: DamageKept, File: r.s.Path(), Position: d.Position, Bytes: behind - d.Position,
		From: d.Expected, To: to, Err: d.Reason})
	return ok, nil
}

// rebuildTxnIndex makes the transaction index of a sealed segment anew from its markers.
func (ld *loading) rebuildTxnIndex(s *segment.Segment, cause error) error {
	state, err := ld.l.producersAt(ld.list, s.Base(), s.Base())
	if err != nil {
		return err
	}
	if err := s.ResetTxnIndex(); err != nil {
		return err
	}
	if err := replay(state, s, 0, s.Size(), s); err != nil {
		return err
	}
	ld.l.rebuilt(s.TxnIndexPath(), cause)
	return nil
}
