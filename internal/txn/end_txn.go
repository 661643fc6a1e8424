package txn

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// The version of EndTxn from which …
const (
	endKnowsFenced = 2 // … clients know PRODUCER_FENCED
	endBumps       = 5 // … the epoch goes up with each end, and the answer tells it (KIP-890, transaction version 2)
)

// EndTxn answers an EndTxn request (versions 0 to 5): the transaction is committed or aborted. The answer comes when
// that is decided for good; the partitions hear of it after that.
func (s *Service) EndTxn(_ context.Context, req *kmsg.EndTxnRequest) *kmsg.EndTxnResponse {
	r := kmsg.NewPtrEndTxnResponse()
	r.Version = req.Version
	q := end{
		id: req.TransactionalID, commit: req.Commit, bumps: req.Version >= endBumps,
		identity: identity{record.ProducerID(req.ProducerID), record.ProducerEpoch(req.ProducerEpoch)},
	}
	o := refused(kerr.InvalidRequest.Code)
	if q.id != "" {
		o = s.withSpareID(func(spare record.ProducerID) outcome {
			return ask(s, q.id, func(m *machine, a *answer[outcome]) coord.Result { return m.endTxn(q, spare, a) }, refused)
		})
	}
	r.ErrorCode, r.ProducerID, r.ProducerEpoch = oldCode(o.code, req.Version >= endKnowsFenced), -1, -1
	if o.code == 0 && q.bumps {
		r.ProducerID, r.ProducerEpoch = int64(o.id), int16(o.epoch)
	}
	return r
}

// end is an EndTxn request.
type end struct {
	id string
	identity
	commit bool
	// bumps: the client speaks transaction version 2.
	bumps bool
}

func (q *end) version() int16 {
	if q.bumps {
		return txnVersionBumps
	}
	return 0
}

func (m *machine) endTxn(q end, spare record.ProducerID, a *answer[outcome]) coord.Result {
	e := m.ids[q.id]
	if e == nil {
		a.give(refused(kerr.InvalidProducerIDMapping.Code))
		return coord.None()
	}
	step := q.judge(&e.transaction)
	switch {
	case step.refuse != nil:
		a.give(refused(step.refuse.Code))
		return coord.None()
	case step.repeated && e.transaction.epoch > lastEpoch: // its producer was fenced with the epoch that nobody gets
		a.give(refused(kerr.ProducerFenced.Code))
		return coord.None()
	case step.repeated:
		a.give(outcome{identity: identity{e.producerID, e.epoch}})
		return coord.None()
	case q.bumps && e.exhausted() && spare == record.NoProducerID:
		a.give(outcome{wantsID: true})
		return coord.None()
	}
	nextID := record.NoProducerID
	if q.bumps && e.exhausted() {
		nextID = spare
	}
	next := e.ended(q.commit, q.version(), nextID, m.nowMs())
	return m.decide(next, func(err error) {
		switch {
		case err != nil:
			a.give(refused(code(err)))
		case nextID != record.NoProducerID:
			a.give(outcome{identity: identity{nextID, 0}})
		default:
			a.give(outcome{identity: identity{next.producerID, next.epoch}})
		}
	})
}

// verdict is what is to be done about an EndTxn.
type verdict struct {
	refuse *kerr.Error
	// repeated: the transaction was ended like that already, the client has not seen the answer.
	repeated bool
}

// judge decides in the order of TransactionCoordinator.endTransaction. While markers are being written the producer id
// may be about to change, so that comes first.
func (q *end) judge(t *transaction) verdict {
	if q.bumps {
		return q.judgeBumping(t)
	}
	switch {
	case q.identity.id != t.producerID:
		return verdict{refuse: kerr.InvalidProducerIDMapping}
	case q.epoch != t.epoch:
		return verdict{refuse: kerr.ProducerFenced}
	case t.state == Ongoing:
		return verdict{}
	case t.state.deciding() && q.commit == (t.state == PrepareCommit):
		return verdict{refuse: kerr.ConcurrentTransactions}
	case t.state == CompleteCommit && q.commit, t.state == CompleteAbort && !q.commit:
		return verdict{repeated: true}
	}
	return verdict{refuse: kerr.InvalidTxnState}
}

// judgeBumping has the rules of transaction version 2. The same epoch after an end means the next transaction; an epoch
// one lower, or the last one of the producer id before, repeats the last request.
func (q *end) judgeBumping(t *transaction) verdict {
	after := t.state != Ongoing && t.state != Empty && t.version >= txnVersionBumps // the last thing was an end like this one
	overflow := after && q.identity.id == t.previousProducerID && q.epoch == lastEpoch && t.epoch == 0 && q.identity.id != t.producerID
	repeats := overflow || after && q.identity.id == t.producerID && t.epoch == q.epoch+1 && q.epoch >= 0
	switch {
	case t.state.deciding() && repeats && q.commit != (t.state == PrepareCommit):
		return verdict{refuse: kerr.InvalidTxnState}
	case t.state.deciding():
		return verdict{refuse: kerr.ConcurrentTransactions}
	case q.identity.id != t.producerID && !overflow:
		return verdict{refuse: kerr.InvalidProducerIDMapping}
	case !repeats && q.epoch != t.epoch:
		return verdict{refuse: kerr.ProducerFenced}
	case repeats && q.commit == (t.state == CompleteCommit):
		return verdict{repeated: true}
	case repeats:
		return verdict{refuse: kerr.InvalidTxnState}
	case t.state == Ongoing, !q.commit:
		return verdict{}
	}
	return verdict{refuse: kerr.InvalidTxnState}
}
