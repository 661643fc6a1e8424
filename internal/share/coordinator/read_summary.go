package coordinator

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type summary = kmsg.ReadShareGroupStateSummaryResponseTopicPartition

// ReadStateSummary answers a ReadShareGroupStateSummary request (versions 0 and 1): where share partitions stand. One of
// which nothing is known has start offset -1.
func (s *Service) ReadStateSummary(ctx context.Context, req *kmsg.ReadShareGroupStateSummaryRequest) *kmsg.ReadShareGroupStateSummaryResponse {
	r := kmsg.NewPtrReadShareGroupStateSummaryResponse()
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
	failed := func(i int, e *kerr.Error) summary {
		x := kmsg.NewReadShareGroupStateSummaryResponseTopicPartition()
		x.Partition = keys[i].Partition
		x.ErrorCode, x.ErrorMessage = told(e)
		return x
	}
	answers := askEach(ctx, s, keys, func(m *machine, i int) decision[summary] {
		found, e := m.summarize(keys[i])
		if e != nil {
			return decision[summary]{answer: failed(i, e)}
		}
		return decision[summary]{answer: found}
	}, failed)
	for _, t := range req.Topics {
		x := kmsg.NewReadShareGroupStateSummaryResponseTopic()
		x.TopicID, x.Partitions = t.TopicID, answers[:len(t.Partitions)]
		answers = answers[len(t.Partitions):]
		r.Topics = append(r.Topics, x)
	}
	return r
}

// summarize does not look at the leader epoch of who asks: it is the group coordinator, for tools.
func (m *machine) summarize(k Key) (summary, *kerr.Error) {
	x := kmsg.NewReadShareGroupStateSummaryResponseTopicPartition()
	x.Partition, x.StartOffset = k.Partition, noStart
	e := m.held[k]
	if k.Partition < 0 {
		return x, kerr.InvalidRequest
	}
	if fault := m.known(k); fault != nil {
		return x, fault
	}
	if e != nil {
		x.StateEpoch, x.LeaderEpoch, x.StartOffset, x.DeliveryCompleteCount = e.stateEpoch, e.state.leaderEpoch, e.start, e.complete
	}
	return x, nil
}
