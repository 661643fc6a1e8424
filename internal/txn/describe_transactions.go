package txn

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type described = kmsg.DescribeTransactionsResponseTransactionState

// DescribeTransactions answers a DescribeTransactions request (version 0).
func (s *Service) DescribeTransactions(_ context.Context, req *kmsg.DescribeTransactionsRequest) *kmsg.DescribeTransactionsResponse {
	r := kmsg.NewPtrDescribeTransactionsResponse()
	r.Version = req.Version
	for _, id := range req.TransactionalIDs {
		d := describeFailed(kerr.InvalidRequest.Code)
		if id != "" {
			d = ask(s, id, func(m *machine, a *answer[described]) coord.Result {
				d := m.describe(id)
				return coord.After(func(err error) {
					if err != nil {
						d = describeFailed(code(err))
					}
					a.give(d)
				})
			}, describeFailed)
		}
		d.TransactionalID = id
		r.TransactionStates = append(r.TransactionStates, d)
	}
	return r
}

func describeFailed(c int16) described {
	d := kmsg.NewDescribeTransactionsResponseTransactionState()
	d.ErrorCode = c
	return d
}

func (m *machine) describe(id string) described {
	e := m.ids[id]
	if e == nil || e.state == Dead {
		return describeFailed(kerr.TransactionalIDNotFound.Code)
	}
	d := describeFailed(0)
	d.State, d.TimeoutMillis, d.StartTimestamp = e.state.String(), e.timeoutMs, e.startMs
	d.ProducerID, d.ProducerEpoch = int64(e.producerID), int16(e.transaction.epoch)
	for _, t := range topicsOf(e.partitions) {
		x := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
		x.Topic, x.Partitions = t.Topic, t.PartitionIDs
		d.Topics = append(d.Topics, x)
	}
	return d
}
