package group

import (
	"context"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// persister is a share coordinator that remembers where states begin. Codes, if any, refuse everything.
type persister struct {
	mu     sync.Mutex
	states map[sharePlace]shareState
	code   int16
	// hold and holdDelete, if not nil, are waited for before a state begins and is deleted.
	hold, holdDelete chan struct{}
	// began and deleted count the states.
	began, deleted int
}

type sharePlace struct {
	group     string
	topic     [16]byte
	partition int32
}

type shareState struct {
	epoch int32
	start int64
}

func newPersister() *persister { return &persister{states: map[sharePlace]shareState{}} }

func (p *persister) refuse(code int16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.code = code
}

func (p *persister) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.states)
}

func (p *persister) InitializeState(_ context.Context, r *kmsg.InitializeShareGroupStateRequest) *kmsg.InitializeShareGroupStateResponse {
	if p.hold != nil {
		<-p.hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := kmsg.NewPtrInitializeShareGroupStateResponse()
	for _, t := range r.Topics {
		x := kmsg.NewInitializeShareGroupStateResponseTopic()
		x.TopicID = t.TopicID
		for _, q := range t.Partitions {
			y := kmsg.NewInitializeShareGroupStateResponseTopicPartition()
			y.Partition, y.ErrorCode = q.Partition, p.code
			if p.code == 0 {
				p.states[sharePlace{r.GroupID, t.TopicID, q.Partition}] = shareState{q.StateEpoch, q.StartOffset}
				p.began++
			}
			x.Partitions = append(x.Partitions, y)
		}
		out.Topics = append(out.Topics, x)
	}
	return out
}

func (p *persister) DeleteState(_ context.Context, r *kmsg.DeleteShareGroupStateRequest) *kmsg.DeleteShareGroupStateResponse {
	if p.holdDelete != nil {
		<-p.holdDelete
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := kmsg.NewPtrDeleteShareGroupStateResponse()
	for _, t := range r.Topics {
		x := kmsg.NewDeleteShareGroupStateResponseTopic()
		x.TopicID = t.TopicID
		for _, q := range t.Partitions {
			y := kmsg.NewDeleteShareGroupStateResponseTopicPartition()
			y.Partition, y.ErrorCode = q.Partition, p.code
			if p.code == 0 {
				delete(p.states, sharePlace{r.GroupID, t.TopicID, q.Partition})
				p.deleted++
			}
			x.Partitions = append(x.Partitions, y)
		}
		out.Topics = append(out.Topics, x)
	}
	return out
}

func (p *persister) ReadStateSummary(_ context.Context, r *kmsg.ReadShareGroupStateSummaryRequest) *kmsg.ReadShareGroupStateSummaryResponse {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := kmsg.NewPtrReadShareGroupStateSummaryResponse()
	for _, t := range r.Topics {
		x := kmsg.NewReadShareGroupStateSummaryResponseTopic()
		x.TopicID = t.TopicID
		for _, q := range t.Partitions {
			y := kmsg.NewReadShareGroupStateSummaryResponseTopicPartition()
			y.Partition, y.StartOffset, y.ErrorCode = q.Partition, -1, p.code
			if s, ok := p.states[sharePlace{r.GroupID, t.TopicID, q.Partition}]; ok {
				y.StateEpoch, y.StartOffset, y.DeliveryCompleteCount = s.epoch, s.start, 0
			}
			x.Partitions = append(x.Partitions, y)
		}
		out.Topics = append(out.Topics, x)
	}
	return out
}

// newShareHost starts a coordinator that serves share groups, over logs that are all empty.
func newShareHost(t testing.TB, change func(*Settings)) (*host, *persister) {
	t.Helper()
	h, p := newHost(t, change), newPersister()
	h.Service.o.Persister = p
	h.Service.o.HighWatermark = func(record.TopicPartition) (record.Offset, bool) { return 0, true }
	return h, p
}
