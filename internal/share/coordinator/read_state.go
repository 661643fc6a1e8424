package coordinator

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type readBack = kmsg.ReadShareGroupStateResponseTopicPartition

// ReadState answers a ReadShareGroupState request (version 0): what a share-partition leader starts from. Its leader epoch is
// noted, so that the leader before it can no longer write.
func (s *Service) ReadState(ctx context.Context, req *kmsg.ReadShareGroupStateRequest) *kmsg.ReadShareGroupStateResponse {
	r := kmsg.NewPtrReadShareGroupStateResponse()
	r.Version = req.Version
	var keys []Key
	var leaders []int32
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			keys = append(keys, Key{strings.Clone(req.GroupID), t.TopicID, p.Partition})
			leaders = append(leaders, p.LeaderEpoch)
		}
		if len(t.Partitions) == 0 {
			return r
		}
	}
	if req.GroupID == "" {
		return r
	}
	failed := func(i int, e *kerr.Error) readBack {
		x := kmsg.NewReadShareGroupStateResponseTopicPartition()
		x.Partition = keys[i].Partition
		x.ErrorCode, x.ErrorMessage = told(e)
		return x
	}
	answers := askEach(ctx, s, keys, func(m *machine, i int) decision[readBack] {
		record, found, e := m.read(keys[i], leaders[i])
		if e != nil {
			return decision[readBack]{answer: failed(i, e)}
		}
		return decision[readBack]{readAnswer(keys[i], found), record}
	}, failed)
	for _, t := range req.Topics {
		x := kmsg.NewReadShareGroupStateResponseTopic()
		x.TopicID, x.Partitions = t.TopicID, answers[:len(t.Partitions)]
		answers = answers[len(t.Partitions):]
		r.Topics = append(r.Topics, x)
	}
	return r
}

func readAnswer(k Key, s *state) readBack {
	x := kmsg.NewReadShareGroupStateResponseTopicPartition()
	x.Partition, x.StateEpoch, x.StartOffset = k.Partition, s.stateEpoch, s.start
	for _, b := range s.batches {
		y := kmsg.NewReadShareGroupStateResponseTopicPartitionStateBatch()
		y.FirstOffset, y.LastOffset, y.DeliveryState, y.DeliveryCount = b.First, b.Last, b.State, b.Count
		x.StateBatches = append(x.StateBatches, y)
	}
	return x
}

// read returns the state as it is, and a record if the reader is a new leader.
func (m *machine) read(k Key, leaderEpoch int32) ([]coord.Record, *state, *kerr.Error) {
	e := m.held[k]
	switch {
	case k.Partition < 0, e == nil, leaderEpoch < 0:
		return nil, nil, kerr.InvalidRequest
	case e.leaderEpoch > leaderEpoch:
		return nil, nil, kerr.FencedLeaderEpoch
	}
	if e := m.known(k); e != nil {
		return nil, nil, e
	}
	if leaderEpoch == e.leaderEpoch {
		return nil, e.state, nil
	}
	u := update{stateEpoch: e.stateEpoch, leaderEpoch: leaderEpoch, start: e.start, complete: e.complete}
	return []coord.Record{m.record(k, e, u)}, e.state, nil
}
