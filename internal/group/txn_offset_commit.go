package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

// The version of TxnOffsetCommit from which …
const (
	txnCommitLoading   = 2 // … clients know COORDINATOR_LOAD_IN_PROGRESS
	txnCommitAbortable = 4 // … clients know TRANSACTION_ABORTABLE (KIP-890)
	txnCommitAdds      = 5 // … the partition is added to the transaction by the way (KIP-890, transaction version 2)
	txnCommitTopicID   = 6 // … topics are named by id
)

// TxnVerification asks whether a transaction has a partition. Add has it added if it does not.
type TxnVerification struct {
	TransactionalID string
	ProducerID      record.ProducerID
	ProducerEpoch   record.ProducerEpoch
	Partition       record.TopicPartition
	Add             bool
}

// TxnOffsetCommit answers a TxnOffsetCommit request (versions 0 to 6): offsets that are committed when the
// producer's transaction is.
func (s *Service) TxnOffsetCommit(ctx context.Context, _ Caller, req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	plain := asOffsetCommit(req)
	r := kmsg.NewPtrOffsetCommitResponse()
	r.Topics = make([]kmsg.OffsetCommitResponseTopic, len(plain.Topics))
	topics := s.env.topics()
	var exist []commitTopic
	for i := range plain.Topics {
		if t, ok := answerTopic(topics, plain, i, &r.Topics[i]); ok {
			exist = append(exist, t)
		}
	}
	if len(exist) > 0 {
		failAll(r, exist, oldTxnCode(req.Version, s.commitInTxn(ctx, req, plain, r, exist)))
	}
	return asTxnResponse(req, r)
}

// asOffsetCommit is the request as a plain commit, of a version that has the same rules for groups and topics.
func asOffsetCommit(req *kmsg.TxnOffsetCommitRequest) *kmsg.OffsetCommitRequest {
	p := kmsg.NewPtrOffsetCommitRequest()
	p.Version = 8
	if req.Version >= txnCommitTopicID {
		p.Version = 10
	}
	p.Group, p.Generation, p.MemberID, p.InstanceID = req.Group, req.Generation, req.MemberID, req.InstanceID
	p.Topics = make([]kmsg.OffsetCommitRequestTopic, len(req.Topics))
	for i, t := range req.Topics {
		out := kmsg.NewOffsetCommitRequestTopic()
		out.Topic, out.TopicID = t.Topic, t.TopicID
		for _, x := range t.Partitions {
			q := kmsg.NewOffsetCommitRequestTopicPartition()
			q.Partition, q.Offset, q.LeaderEpoch, q.Metadata = x.Partition, x.Offset, x.LeaderEpoch, x.Metadata
			out.Partitions = append(out.Partitions, q)
		}
		p.Topics[i] = out
	}
	return p
}

func asTxnResponse(req *kmsg.TxnOffsetCommitRequest, r *kmsg.OffsetCommitResponse) *kmsg.TxnOffsetCommitResponse {
	out := kmsg.NewPtrTxnOffsetCommitResponse()
	out.Version = req.Version
	for _, t := range r.Topics {
		x := kmsg.NewTxnOffsetCommitResponseTopic()
		x.Topic, x.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			q := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			q.Partition, q.ErrorCode = p.Partition, p.ErrorCode
			x.Partitions = append(x.Partitions, q)
		}
		out.Topics = append(out.Topics, x)
	}
	return out
}

// commitInTxn has the transaction coordinator confirm the group's partition, then writes. The group's own checks
// come last, as in Kafka.
func (s *Service) commitInTxn(ctx context.Context, req *kmsg.TxnOffsetCommitRequest, plain *kmsg.OffsetCommitRequest, r *kmsg.OffsetCommitResponse, exist []commitTopic) int16 {
	if req.Group == "" {
		return kerr.InvalidGroupID.Code
	}
	p, err := s.partition(req.Group)
	if err != nil {
		return code(err)
	}
	txn := coord.Txn{ProducerID: record.ProducerID(req.ProducerID), ProducerEpoch: record.ProducerEpoch(req.ProducerEpoch)}
	txn.Guard, err = s.runtime.StartVerification(p, txn.ProducerID, txn.ProducerEpoch, req.Version >= txnCommitAdds)
	if err != nil {
		return code(err)
	}
	if txn.Guard != producer.NoGuard {
		if c := s.verify(ctx, req, p); c != 0 {
			return c
		}
	}
	return askPartition(s, p, false, func(m *machine, a *answer[int16]) coord.Result {
		return m.commit(plain, r, exist, &txn, a)
	}, func(c int16) int16 { return c })
}

// verify asks the transaction coordinator about partition p of the offsets topic. Its own troubles look to the client
// like those of this coordinator: it should ask again, not look for another.
func (s *Service) verify(ctx context.Context, req *kmsg.TxnOffsetCommitRequest, p int32) int16 {
	if s.o.VerifyTxn == nil {
		return kerr.InvalidProducerIDMapping.Code
	}
	c := s.o.VerifyTxn(ctx, TxnVerification{
		TransactionalID: req.TransactionalID, ProducerID: record.ProducerID(req.ProducerID), ProducerEpoch: record.ProducerEpoch(req.ProducerEpoch),
		Partition: record.TopicPartition{Topic: OffsetsTopic, Partition: p}, Add: req.Version >= txnCommitAdds,
	})
	switch {
	case c == kerr.ProducerFenced.Code:
		return kerr.InvalidProducerEpoch.Code
	case c == kerr.NotCoordinator.Code, c == kerr.CoordinatorNotAvailable.Code, c == kerr.ConcurrentTransactions.Code && req.Version < txnCommitAdds:
		return kerr.CoordinatorLoadInProgress.Code
	}
	return c
}

// oldTxnCode puts an error into the words of an older version.
func oldTxnCode(version, c int16) int16 {
	switch {
	case c == kerr.TransactionAbortable.Code && version < txnCommitAbortable:
		return kerr.InvalidTxnState.Code
	case c == kerr.CoordinatorLoadInProgress.Code && version < txnCommitLoading:
		return kerr.CoordinatorNotAvailable.Code
	}
	return c
}

// WriteMarker ends a producer's transaction in a partition of __consumer_offsets: what it has committed there becomes
// stable or is forgotten. It returns when the marker is committed. Errors are those of package coord and of
// storage/producer.
func (s *Service) WriteMarker(partition int32, marker coord.Marker) error {
	done := make(chan error, 1)
	err := s.runtime.Submit(partition, coord.Op[*machine]{
		Run: func(*machine) coord.Result {
			return coord.Result{Marker: &marker, Done: func(err error) coord.Result { done <- err; return coord.None() }}
		},
		Fail: func(err error) { done <- err },
	})
	if err != nil {
		return err
	}
	return <-done
}
