package coordinator

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type written = kmsg.WriteShareGroupStateResponseTopicPartition

// firstComplete is the version of WriteShareGroupState from which on writers tell how many deliveries are complete.
const firstComplete = 1

// WriteState answers a WriteShareGroupState request (versions 0 and 1): what share-partition leaders have seen happen.
func (s *Service) WriteState(ctx context.Context, req *kmsg.WriteShareGroupStateRequest) *kmsg.WriteShareGroupStateResponse {
	r := kmsg.NewPtrWriteShareGroupStateResponse()
	r.Version = req.Version
	var keys []Key
	var asked []update
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			keys = append(keys, Key{strings.Clone(req.GroupID), t.TopicID, t.Partitions[j].Partition})
			asked = append(asked, updateOf(&t.Partitions[j], req.Version))
		}
		if len(t.Partitions) == 0 {
			return r
		}
	}
	if req.GroupID == "" {
		return r
	}
	answer := func(i int, e *kerr.Error) written {
		x := kmsg.NewWriteShareGroupStateResponseTopicPartition()
		x.Partition = keys[i].Partition
		x.ErrorCode, x.ErrorMessage = told(e)
		return x
	}
	answers := askEach(ctx, s, keys, func(m *machine, i int) decision[written] {
		record, e := m.write(keys[i], asked[i])
		return decision[written]{answer(i, e), record}
	}, answer)
	for _, t := range req.Topics {
		x := kmsg.NewWriteShareGroupStateResponseTopic()
		x.TopicID, x.Partitions = t.TopicID, answers[:len(t.Partitions)]
		answers = answers[len(t.Partitions):]
		r.Topics = append(r.Topics, x)
	}
	return r
}

func updateOf(p *kmsg.WriteShareGroupStateRequestTopicPartition, version int16) update {
	u := update{stateEpoch: p.StateEpoch, leaderEpoch: p.LeaderEpoch, start: p.StartOffset, complete: noCount}
	if version >= firstComplete {
		u.complete = p.DeliveryCompleteCount
	}
	for _, b := range p.StateBatches {
		u.batches = append(u.batches, Batch{b.FirstOffset, b.LastOffset, b.DeliveryState, b.DeliveryCount})
	}
	return u
}

// write takes what a leader says, unless another has taken its place (SHC-3, SHC-4).
func (m *machine) write(k Key, u update) ([]coord.Record, *kerr.Error) {
	e := m.held[k]
	switch {
	case k.Partition < 0, e == nil, u.leaderEpoch < 0, u.stateEpoch < 0, u.backwards():
		return nil, kerr.InvalidRequest
	case e.leaderEpoch > u.leaderEpoch:
		return nil, kerr.FencedLeaderEpoch
	case e.stateEpoch > u.stateEpoch:
		return nil, kerr.FencedStateEpoch
	}
	if e := m.known(k); e != nil {
		return nil, e
	}
	u.leaderEpoch = noEpoch // a new leader reads before it writes: that is when its epoch is recorded
	return []coord.Record{m.record(k, e, u)}, nil
}

// backwards reports whether a range ends before it begins.
func (u update) backwards() bool {
	return slices.ContainsFunc(u.batches, func(b Batch) bool { return b.First > b.Last })
}
