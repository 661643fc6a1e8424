package coordinator

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type initialized = kmsg.InitializeShareGroupStateResponseTopicPartition

// InitializeState answers an InitializeShareGroupState request (version 0): the state of share partitions begins, or begins
// anew, at a start offset. It is empty if the request names no group or a topic without partitions, as Kafka's.
func (s *Service) InitializeState(ctx context.Context, req *kmsg.InitializeShareGroupStateRequest) *kmsg.InitializeShareGroupStateResponse {
	r := kmsg.NewPtrInitializeShareGroupStateResponse()
	r.Version = req.Version
	var keys []Key
	var asked []*kmsg.InitializeShareGroupStateRequestTopicPartition
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			keys = append(keys, Key{strings.Clone(req.GroupID), t.TopicID, t.Partitions[j].Partition})
			asked = append(asked, &t.Partitions[j])
		}
		if len(t.Partitions) == 0 {
			return r
		}
	}
	if req.GroupID == "" {
		return r
	}
	answer := func(i int, e *kerr.Error) initialized {
		x := kmsg.NewInitializeShareGroupStateResponseTopicPartition()
		x.Partition = keys[i].Partition
		x.ErrorCode, x.ErrorMessage = told(e)
		return x
	}
	answers := askEach(ctx, s, keys, func(m *machine, i int) decision[initialized] {
		record, e := m.initialize(keys[i], asked[i].StateEpoch, asked[i].StartOffset)
		return decision[initialized]{answer(i, e), record}
	}, answer)
	for _, t := range req.Topics {
		x := kmsg.NewInitializeShareGroupStateResponseTopic()
		x.TopicID, x.Partitions = t.TopicID, answers[:len(t.Partitions)]
		answers = answers[len(t.Partitions):]
		r.Topics = append(r.Topics, x)
	}
	return r
}

// initialize begins a state anew. What was known is not kept.
func (m *machine) initialize(k Key, stateEpoch int32, start int64) ([]coord.Record, *kerr.Error) {
	old := m.held[k]
	switch {
	case k.Partition < 0, stateEpoch < 0:
		return nil, kerr.InvalidRequest
	case old != nil && old.stateEpoch > stateEpoch:
		return nil, kerr.FencedStateEpoch
	}
	if e := m.known(k); e != nil {
		return nil, e
	}
	nowMs := m.nowMs()
	next := &state{stateEpoch: stateEpoch, start: start, complete: noCount, createMs: nowMs, writeMs: nowMs}
	if start != noStart {
		next.complete = 0
	}
	if old != nil {
		next.snapshotEpoch = old.snapshotEpoch + 1
	}
	return []coord.Record{snapshotRecord(k, next)}, nil
}
