package producer

import (
	"fmt"

	"github.com/samsalog/samsa/record"
)

// maxProducerEpoch is the last epoch of a producer id: it cannot be bumped any more.
const maxProducerEpoch record.ProducerEpoch = 1<<15 - 1

// Source tells how much a batch is trusted.
type Source int8

// The sources: a client's batch is checked fully; a coordinator's without sequences; what comes from a leader or from
// this log's own files is taken as it is.
const (
	FromClient Source = iota
	FromCoordinator
	FromLog
)

// Rules says how one append is to be checked.
type Rules struct {
	Source Source
	// Verify demands a matching Guard from batches that begin a transaction here.
	Verify bool
	Guard  int64
	// TxnVersion came with an end marker; from 2 on markers carry an epoch above the data's.
	TxnVersion int16
}

// staging is an append that is being checked. Its slices are reused.
type staging struct {
	entries   []stagedEntry
	started   []txn
	completed []CompletedTxn
	// touched are producers whose verification ends with this append.
	touched []touch
}

type stagedEntry struct {
	id record.ProducerID
	entry
}

type touch struct {
	id      record.ProducerID
	control bool
	epoch   record.ProducerEpoch
}

// Stage checks one batch that has a producer id against the producer's state and the batches staged before. marker is
// the batch's end marker; nil for data, and for other control batches, which change nothing. After an error the
// caller discards.
func (s *State) Stage(h *record.Header, marker *record.EndTxnMarker, r Rules) error {
	if !h.HasProducerID() {
		return nil
	}
	if h.IsControl() {
		if marker == nil { // emptied by compaction, or of a kind that carries no transaction
			return nil
		}
		return s.stageMarker(h, *marker, r)
	}
	return s.stageData(h, r)
}

func (s *State) stageData(h *record.Header, r Rules) error {
	e := s.stage(h.ProducerID)
	if r.Source != FromLog {
		if err := s.checkData(h, e, r); err != nil {
			return err
		}
	}
	e.setEpoch(h.ProducerEpoch)
	e.add(batchOf(h))
	if !h.IsTransactional() {
		return nil
	}
	if e.txnFirstOffset < 0 {
		e.txnFirstOffset = h.BaseOffset
		s.staged.started = append(s.staged.started, txn{id: h.ProducerID, first: h.BaseOffset, last: record.NoOffset})
	}
	s.staged.touched = append(s.staged.touched, touch{id: h.ProducerID, epoch: h.ProducerEpoch})
	return nil
}

// checkData holds the rules of ProducerAppendInfo and UnifiedLog.analyzeAndValidateProducerState in their order.
func (s *State) checkData(h *record.Header, e *entry, r Rules) error {
	if h.IsTransactional() && (e.txnFirstOffset < 0 || e.epoch != h.ProducerEpoch) {
		if h.ProducerEpoch < e.epoch {
			return epochError(h, e)
		}
		if v := s.verified[h.ProducerID]; r.Verify && (v == nil || v.guard != r.Guard) {
			return fmt.Errorf("%w: producer %d begins a transaction that was not verified", ErrInvalidTxnState, h.ProducerID)
		}
	}
	if h.ProducerEpoch < e.epoch {
		return epochError(h, e)
	}
	if r.Source == FromClient {
		if err := s.checkSequence(h, e); err != nil {
			return err
		}
	}
	if e.txnFirstOffset >= 0 && !h.IsTransactional() {
		return fmt.Errorf("%w: producer %d has an open transaction since offset %d, the batch is not transactional",
			ErrInvalidTxnState, h.ProducerID, e.txnFirstOffset)
	}
	return nil
}

func (s *State) checkSequence(h *record.Header, e *entry) error {
	first := h.BaseSequence
	if v := s.verified[h.ProducerID]; v != nil {
		if first > v.lowestSequence || v.epochBumps && first != 0 && e.count == 0 {
			return sequenceError(h, e)
		}
	}
	switch {
	case e.epoch == record.NoProducerEpoch: // nothing known: all its records may have been deleted
		return nil
	case e.epoch != h.ProducerEpoch:
		if first != 0 {
			return sequenceError(h, e)
		}
	case first != e.lastSequence().Add(1):
		return sequenceError(h, e)
	}
	return nil
}

func (s *State) stageMarker(h *record.Header, m record.EndTxnMarker, r Rules) error {
	e := s.stage(h.ProducerID)
	if r.Source != FromLog {
		if err := checkMarker(h, m, e, r); err != nil {
			return err
		}
	}
	if e.txnFirstOffset >= 0 {
		s.staged.completed = append(s.staged.completed, CompletedTxn{ProducerID: h.ProducerID, FirstOffset: e.txnFirstOffset,
			LastOffset: h.LastOffset(), Aborted: m.Type == record.ControlAbort})
	}
	e.setEpoch(h.ProducerEpoch)
	e.coordinatorEpoch = m.CoordinatorEpoch
	e.lastTimestamp = h.MaxTimestamp
	e.txnFirstOffset = record.NoOffset
	s.staged.touched = append(s.staged.touched, touch{id: h.ProducerID, control: true, epoch: h.ProducerEpoch})
	return nil
}

func checkMarker(h *record.Header, m record.EndTxnMarker, e *entry, r Rules) error {
	switch {
	case r.TxnVersion >= 2 && e.epoch != record.NoProducerEpoch:
		retry := h.ProducerEpoch == e.epoch && (e.txnFirstOffset < 0 || h.ProducerEpoch == maxProducerEpoch)
		if h.ProducerEpoch <= e.epoch && !retry {
			return epochError(h, e)
		}
	case h.ProducerEpoch < e.epoch:
		return epochError(h, e)
	}
	if e.coordinatorEpoch > m.CoordinatorEpoch {
		return fmt.Errorf("%w: marker of coordinator epoch %d for producer %d, %d is known",
			ErrCoordinatorFenced, m.CoordinatorEpoch, h.ProducerID, e.coordinatorEpoch)
	}
	return nil
}

func epochError(h *record.Header, e *entry) error {
	return fmt.Errorf("%w: producer %d comes with epoch %d, %d is known", ErrInvalidProducerEpoch, h.ProducerID, h.ProducerEpoch, e.epoch)
}

func sequenceError(h *record.Header, e *entry) error {
	return fmt.Errorf("%w: producer %d epoch %d comes with sequence %d at offset %d; epoch %d with last sequence %d is known",
		ErrOutOfOrderSequence, h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.BaseOffset, e.epoch, e.lastSequence())
}

// stage returns the producer's entry as the batches staged so far leave it.
func (s *State) stage(id record.ProducerID) *entry {
	list := s.staged.entries
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].id == id {
			return &list[i].entry
		}
	}
	e := unknown()
	if known := s.entries[id]; known != nil {
		e = *known
	}
	s.staged.entries = append(list, stagedEntry{id, e})
	return &s.staged.entries[len(s.staged.entries)-1].entry
}

// Commit makes what was staged visible (PROD-1) and returns the transactions that it ended, in log order; the slice
// is borrowed until the next Stage. end is the offset after the append, nowMs the log's clock.
func (s *State) Commit(end record.Offset, nowMs int64) []CompletedTxn {
	for i := range s.staged.entries {
		x := &s.staged.entries[i]
		x.seenMs = nowMs
		if e := s.entries[x.id]; e != nil {
			*e = x.entry
		} else {
			e := x.entry
			s.entries[x.id] = &e
		}
	}
	for _, t := range s.staged.started {
		s.ongoing = insertTxn(s.ongoing, t)
	}
	for i := range s.staged.completed {
		s.complete(&s.staged.completed[i])
	}
	for _, t := range s.staged.touched {
		s.forgetVerification(t.id, t.control, t.epoch)
	}
	s.mapEnd = end
	done := s.staged.completed
	s.Discard()
	return done
}

// Discard forgets what was staged.
func (s *State) Discard() {
	s.staged.entries = s.staged.entries[:0]
	s.staged.started = s.staged.started[:0]
	s.staged.completed = s.staged.completed[:0]
	s.staged.touched = s.staged.touched[:0]
}
