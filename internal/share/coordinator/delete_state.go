package coordinator

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type deleted = kmsg.DeleteShareGroupStateResponseTopicPartition

// DeleteState answers a DeleteShareGroupState request (version 0). What is not there is deleted too.
func (s *Service) DeleteState(ctx context.Context, req *kmsg.DeleteShareGroupStateRequest) *kmsg.DeleteShareGroupStateResponse {
	r := kmsg.NewPtrDeleteShareGroupStateResponse()
	r.Version = req.Version
	var keys []Key
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			keys = append(keys, Key{strings.Clone(req.GroupID), t.TopicID, p.Partition})
		}
		if len(t.Partitions) == 0 {
			return r
		}
	}
	if req.GroupID == "" {
		return r
	}
	answer := func(i int, e *kerr.Error) deleted {
		x := kmsg.NewDeleteShareGroupStateResponseTopicPartition()
		x.Partition = keys[i].Partition
		x.ErrorCode, x.ErrorMessage = told(e)
		return x
	}
	answers := askEach(ctx, s, keys, func(m *machine, i int) decision[deleted] {
		record, e := m.remove(keys[i])
		return decision[deleted]{answer(i, e), record}
	}, answer)
	for _, t := range req.Topics {
		x := kmsg.NewDeleteShareGroupStateResponseTopic()
		x.TopicID, x.Partitions = t.TopicID, answers[:len(t.Partitions)]
		answers = answers[len(t.Partitions):]
		r.Topics = append(r.Topics, x)
	}
	return r
}

// remove forgets a share partition.
func (m *machine) remove(k Key) ([]coord.Record, *kerr.Error) {
	if k.Partition < 0 {
		return nil, kerr.InvalidRequest
	}
	if e := m.known(k); e != nil {
		return nil, e
	}
	if m.held[k] == nil {
		return nil, nil
	}
	return []coord.Record{tombstone(k)}, nil
}
