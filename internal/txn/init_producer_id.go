package txn

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// initKnowsFenced is the version of InitProducerId from which clients know PRODUCER_FENCED.
const initKnowsFenced = 4

// identity is a producer id with an epoch.
type identity struct {
	id    record.ProducerID
	epoch record.ProducerEpoch
}

// noProducer is what refused requests are answered.
func noProducer() identity { return identity{record.NoProducerID, record.NoProducerEpoch} }

// outcome is what a request for a producer leads to.
type outcome struct {
	code int16
	identity
	// wantsID: a new producer id is needed; ask again with one.
	wantsID bool
}

func refused(c int16) outcome { return outcome{code: c, identity: noProducer()} }

// InitProducerID answers an InitProducerId request (versions 0 to 5): a new producer id for an idempotent producer, the
// next epoch for a transactional one, after whatever it has left open is aborted (KIP-98, KIP-360).
func (s *Service) InitProducerID(_ context.Context, req *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	r := kmsg.NewPtrInitProducerIDResponse()
	r.Version = req.Version
	o := s.initProducer(req)
	r.ErrorCode, r.ProducerID, r.ProducerEpoch = oldCode(o.code, req.Version >= initKnowsFenced), int64(o.id), int16(o.epoch)
	return r
}

func (s *Service) initProducer(req *kmsg.InitProducerIDRequest) outcome {
	if req.TransactionalID == nil {
		id, c := s.newProducerID()
		if c != 0 {
			return refused(c)
		}
		return outcome{identity: identity{id, 0}}
	}
	q := initialization{id: *req.TransactionalID, timeoutMs: req.TransactionTimeoutMillis}
	if req.ProducerID != -1 || req.ProducerEpoch != -1 {
		q.expected = &identity{record.ProducerID(req.ProducerID), record.ProducerEpoch(req.ProducerEpoch)}
	}
	switch {
	case q.id == "", q.expected != nil && (req.ProducerID == -1 || req.ProducerEpoch == -1):
		return refused(kerr.InvalidRequest.Code)
	case q.timeoutMs <= 0 || time.Duration(q.timeoutMs)*time.Millisecond > s.env.settings().MaxTimeout:
		return refused(kerr.InvalidTransactionTimeout.Code)
	}
	return s.withSpareID(func(spare record.ProducerID) outcome {
		return ask(s, q.id, func(m *machine, a *answer[outcome]) coord.Result {
			return m.initProducer(q, spare, a)
		}, refused)
	})
}

// initialization is an InitProducerId request of a transactional id.
type initialization struct {
	id        string
	timeoutMs int32
	// expected is what the client believes it is; nil when it does not know, or has just been started.
	expected *identity
}

// mayBe reports whether the client can be the producer that t knows. Its epoch is looked at later, except when it has
// used up all of them and has not heard of its new producer id.
func (q *initialization) mayBe(t *transaction) bool {
	return q.expected == nil || q.expected.id == t.producerID ||
		q.expected.id == t.previousProducerID && q.expected.epoch >= lastEpoch
}

func (m *machine) initProducer(q initialization, spare record.ProducerID, a *answer[outcome]) coord.Result {
	e := m.ids[q.id]
	switch {
	case e == nil:
		return m.newTransactionalID(q, spare, a)
	case e.state.deciding():
		a.give(refused(kerr.ConcurrentTransactions.Code))
	case !q.mayBe(&e.transaction):
		a.give(refused(kerr.ProducerFenced.Code))
	case e.state == Ongoing:
		// The epoch that fences is nobody's. The client asks again and gets one above it.
		return m.decide(e.fenced(m.env.settings().TxnVersion, m.nowMs()), func(err error) {
			if err != nil {
				a.give(refused(code(err)))
				return
			}
			a.give(refused(kerr.ConcurrentTransactions.Code))
		})
	default:
		return m.nextProducer(q, e, spare, a)
	}
	return coord.None()
}

// newTransactionalID begins with a new producer id, whatever the client believes it is: its state has expired.
func (m *machine) newTransactionalID(q initialization, spare record.ProducerID, a *answer[outcome]) coord.Result {
	if spare == record.NoProducerID {
		a.give(outcome{wantsID: true})
		return coord.None()
	}
	t := transaction{id: q.id, producerID: spare, previousProducerID: spare, nextProducerID: record.NoProducerID, previousEpoch: record.NoProducerEpoch}
	return m.initialize(t.initialized(q.timeoutMs, m.nowMs()), a)
}

// nextProducer gives the client the next epoch, or a new producer id when there is no next one (TXN-2).
func (m *machine) nextProducer(q initialization, e *entry, spare record.ProducerID, a *answer[outcome]) coord.Result {
	next := e.initialized(q.timeoutMs, m.nowMs())
	known := q.expected == nil || q.expected.epoch == e.epoch
	switch {
	case !known && q.expected.epoch != e.previousEpoch:
		a.give(refused(kerr.ProducerFenced.Code))
		return coord.None()
	case !known && e.epoch <= lastEpoch:
		// The client has not seen the answer to the same request, or its transaction was aborted for it: the epoch is
		// the next one for it already.
		return m.initialize(next, a)
	case e.exhausted() && spare == record.NoProducerID:
		a.give(outcome{wantsID: true})
		return coord.None()
	case e.exhausted():
		next.producerID, next.epoch = spare, 0
	default:
		next.epoch++
	}
	next.previousEpoch = record.NoProducerEpoch
	if q.expected != nil {
		next.previousEpoch = q.expected.epoch
	}
	return m.initialize(next, a)
}

func (m *machine) initialize(next transaction, a *answer[outcome]) coord.Result {
	return m.write(next, func(err error) coord.Result {
		if err != nil {
			a.give(refused(code(err)))
		} else {
			a.give(outcome{identity: identity{next.producerID, next.epoch}})
		}
		return coord.None()
	})
}
