package producer

import "github.com/samsalog/samsa/record"

// verification is kept between asking the transaction coordinator whether a partition belongs to a transaction and
// the append that follows (KIP-890, VerificationStateEntry).
type verification struct {
	guard     int64
	createdMs int64
	// lowestSequence is the smallest first sequence seen while unverified: nothing later may be written first.
	lowestSequence record.Sequence
	epoch          record.ProducerEpoch
	// epochBumps tells that the client speaks transaction version 2, where every transaction has its own epoch.
	epochBumps bool
}

// NoGuard is the guard of an append that needs no verification; it never matches one that was given out.
const NoGuard int64 = 0

// StartVerification returns the guard to carry through the coordinator's answer into the append of a transactional
// batch, or NoGuard if the producer's transaction is already open here. epochBumps: the client speaks transaction
// version 2.
func (s *State) StartVerification(id record.ProducerID, first record.Sequence, epoch record.ProducerEpoch, epochBumps bool, nowMs int64) int64 {
	if e := s.entries[id]; e != nil && e.txnFirstOffset >= 0 && e.epoch == epoch {
		return NoGuard
	}
	v := s.verified[id]
	switch {
	case v == nil:
		s.guards++
		v = &verification{guard: s.guards, createdMs: nowMs, lowestSequence: first, epoch: epoch, epochBumps: epochBumps}
		s.verified[id] = v
	case epoch > v.epoch:
		v.epoch, v.lowestSequence, v.epochBumps = epoch, first, epochBumps
	case epoch == v.epoch && first < v.lowestSequence:
		v.lowestSequence = first
	}
	return v.guard
}

// forgetVerification ends the verification of a producer after a transactional batch or marker was appended. One that
// belongs to the transaction that begins after this marker stays.
func (s *State) forgetVerification(id record.ProducerID, control bool, epoch record.ProducerEpoch) {
	if v := s.verified[id]; v != nil && !(control && v.epochBumps && v.epoch == epoch) {
		delete(s.verified, id)
	}
}
