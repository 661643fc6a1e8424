package txn

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// The version of AddPartitionsToTxn from which …
const (
	addKnowsFenced = 2 // … clients know PRODUCER_FENCED
	addBatched     = 4 // … brokers ask, for several transactions at once, and may only want to know (KIP-890)
)

// addition asks for partitions of one transaction.
type addition struct {
	id string
	identity
	partitions []record.TopicPartition
	// version is the transaction version of the client that it is for.
	version int16
}

// AddPartitions answers an AddPartitionsToTxn request (versions 0 to 5).
func (s *Service) AddPartitions(ctx context.Context, req *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	r := kmsg.NewPtrAddPartitionsToTxnResponse()
	r.Version = req.Version
	if req.Version >= addBatched {
		for i := range req.Transactions {
			r.Transactions = append(r.Transactions, s.addBatched(ctx, &req.Transactions[i]))
		}
		return r
	}
	var topics []kmsg.AddPartitionsToTxnRequestTransactionTopic
	for _, t := range req.Topics {
		topics = append(topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	q := addition{id: req.TransactionalID, identity: identity{record.ProducerID(req.ProducerID), record.ProducerEpoch(req.ProducerEpoch)}}
	for _, t := range s.addTopics(q, topics, func(q addition) []int16 {
		return repeat(oldCode(s.add(q).code, req.Version >= addKnowsFenced), len(q.partitions))
	}) {
		out := kmsg.NewAddPartitionsToTxnResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			x := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			x.Partition, x.ErrorCode = p.Partition, p.ErrorCode
			out.Partitions = append(out.Partitions, x)
		}
		r.Topics = append(r.Topics, out)
	}
	return r
}

func (s *Service) addBatched(ctx context.Context, t *kmsg.AddPartitionsToTxnRequestTransaction) kmsg.AddPartitionsToTxnResponseTransaction {
	out := kmsg.NewAddPartitionsToTxnResponseTransaction()
	out.TransactionalID = t.TransactionalID
	q := addition{
		id: t.TransactionalID, identity: identity{record.ProducerID(t.ProducerID), record.ProducerEpoch(t.ProducerEpoch)}, version: txnVersionBumps,
	}
	out.Topics = s.addTopics(q, t.Topics, func(q addition) []int16 {
		if t.VerifyOnly {
			return s.has(q)
		}
		return repeat(s.add(q).code, len(q.partitions))
	})
	return out
}

type addedTopic = kmsg.AddPartitionsToTxnResponseTransactionTopic

// addTopics has ask decide about the partitions, if all of them exist; else nothing is attempted.
func (s *Service) addTopics(q addition, topics []kmsg.AddPartitionsToTxnRequestTransactionTopic, ask func(addition) []int16) []addedTopic {
	var out []addedTopic
	var at []*int16
	missing := false
	for _, t := range topics {
		x := addedTopic{Topic: t.Topic, Partitions: make([]kmsg.AddPartitionsToTxnResponseTransactionTopicPartition, len(t.Partitions))}
		for i, p := range t.Partitions {
			tp := record.TopicPartition{Topic: t.Topic, Partition: p}
			x.Partitions[i] = kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			x.Partitions[i].Partition = p
			if q.id != "" && !s.o.Exists(tp) {
				x.Partitions[i].ErrorCode = kerr.UnknownTopicOrPartition.Code
				missing = true
				continue
			}
			at = append(at, &x.Partitions[i].ErrorCode)
			q.partitions = append(q.partitions, tp)
		}
		out = append(out, x)
	}
	codes := repeat(kerr.OperationNotAttempted.Code, len(at))
	switch {
	case q.id == "":
		codes = repeat(kerr.InvalidRequest.Code, len(at))
	case !missing && len(at) > 0:
		codes = ask(q)
	}
	for i, c := range codes {
		*at[i] = c
	}
	return out
}

func repeat(c int16, n int) []int16 {
	out := make([]int16, n)
	for i := range out {
		out[i] = c
	}
	return out
}

// added is the outcome of an addition.
type added struct {
	code int16
	// over is closed when the transaction that was in the way has ended; nil if none was.
	over <-chan struct{}
}

func addFailed(c int16) added { return added{code: c} }

// add adds partitions to a transaction and begins it with the first.
func (s *Service) add(q addition) added {
	return ask(s, q.id, func(m *machine, a *answer[added]) coord.Result { return m.add(q, a) }, addFailed)
}

func (m *machine) add(q addition, a *answer[added]) coord.Result {
	e := m.ids[q.id]
	switch {
	case e == nil:
		a.give(addFailed(kerr.InvalidProducerIDMapping.Code))
	case e.state.deciding():
		// First: the end may be about to give the producer another id.
		a.give(added{kerr.ConcurrentTransactions.Code, e.whenOver()})
	case e.producerID != q.identity.id:
		a.give(addFailed(kerr.InvalidProducerIDMapping.Code))
	case e.transaction.epoch != q.epoch:
		a.give(addFailed(kerr.ProducerFenced.Code))
	case e.state == Ongoing && e.has(q.partitions...):
		return coord.After(func(err error) { a.give(addFailed(code(err))) })
	default:
		return m.write(e.with(q.partitions, q.version, m.nowMs()), func(err error) coord.Result {
			a.give(addFailed(code(err)))
			return coord.None()
		})
	}
	return coord.None()
}

// has tells for each partition whether it belongs to the open transaction: TRANSACTION_ABORTABLE if not.
func (s *Service) has(q addition) []int16 {
	return ask(s, q.id, func(m *machine, a *answer[[]int16]) coord.Result {
		codes := m.has(q)
		return coord.After(func(err error) {
			if err != nil {
				codes = repeat(code(err), len(q.partitions))
			}
			a.give(codes)
		})
	}, func(c int16) []int16 { return repeat(c, len(q.partitions)) })
}

func (m *machine) has(q addition) []int16 {
	e := m.ids[q.id]
	var refuse *kerr.Error
	switch {
	case e == nil || e.producerID != q.identity.id:
		refuse = kerr.InvalidProducerIDMapping
	case e.transaction.epoch != q.epoch:
		refuse = kerr.ProducerFenced
	case e.state.deciding():
		refuse = kerr.ConcurrentTransactions
	}
	if refuse != nil {
		return repeat(refuse.Code, len(q.partitions))
	}
	codes := make([]int16, len(q.partitions))
	for i, tp := range q.partitions {
		if !e.transaction.has(tp) {
			codes[i] = kerr.TransactionAbortable.Code
		}
	}
	return codes
}

// AddOffsets answers an AddOffsetsToTxn request (versions 0 to 4): the group's partition of __consumer_offsets is added.
func (s *Service) AddOffsets(ctx context.Context, req *kmsg.AddOffsetsToTxnRequest) *kmsg.AddOffsetsToTxnResponse {
	r := kmsg.NewPtrAddOffsetsToTxnResponse()
	r.Version = req.Version
	if req.TransactionalID == "" {
		r.ErrorCode = kerr.InvalidRequest.Code
		return r
	}
	tp, err := s.o.OffsetsPartition(ctx, req.Group)
	if err != nil {
		r.ErrorCode = code(err)
		return r
	}
	q := addition{
		id: req.TransactionalID, identity: identity{record.ProducerID(req.ProducerID), record.ProducerEpoch(req.ProducerEpoch)},
		partitions: []record.TopicPartition{tp},
	}
	r.ErrorCode = oldCode(s.add(q).code, req.Version >= addKnowsFenced)
	return r
}
