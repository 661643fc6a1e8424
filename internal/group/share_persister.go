package group

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/share"
)

// SharePersister is the share coordinator, who keeps the states of share partitions. Calls block until the answer stands;
// errors are codes inside.
type SharePersister interface {
	InitializeState(ctx context.Context, r *kmsg.InitializeShareGroupStateRequest) *kmsg.InitializeShareGroupStateResponse
	DeleteState(ctx context.Context, r *kmsg.DeleteShareGroupStateRequest) *kmsg.DeleteShareGroupStateResponse
	ReadStateSummary(ctx context.Context, r *kmsg.ReadShareGroupStateSummaryRequest) *kmsg.ReadShareGroupStateSummaryResponse
}

// idleTimeout bounds how long who administers a share group waits for the share coordinator, who answers within
// share.coordinator.write.timeout.ms.
const idleTimeout = 10 * time.Second

// summaryVersion is the version of ReadShareGroupStateSummary that is asked: with the count of completed deliveries.
const summaryVersion = 1

// whenIdle runs an operation that must not meet the share coordinator at work for the group: as long as that is so, run
// gives what to wait for. It reports false when that takes too long.
func (s *Service) whenIdle(ctx context.Context, run func() (idle <-chan struct{})) bool {
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	for {
		idle := run()
		if idle == nil {
			return true
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return false
		}
	}
}

// beginShares has the share coordinator begin states, while the shard goes on.
func (m *machine) beginShares(g *shareGroup, req *kmsg.InitializeShareGroupStateRequest) {
	g.occupy(share.InBeginning(req))
	m.env.beginShares(req)
}

// beginStates asks the share coordinator to begin states, and has the group hear of the outcome.
func (s *Service) beginStates(req *kmsg.InitializeShareGroupStateRequest) {
	s.background.Go(func() {
		answer := s.o.Persister.InitializeState(s.ctx, req)
		// A shard that has ended meanwhile is another node's, or was read again: the next heartbeat there begins anew.
		_ = s.submit(req.GroupID, coord.Op[*machine]{Patient: true, Run: func(m *machine) coord.Result {
			return m.sharesBegun(req, answer, func(error) {})
		}})
	})
}

// sharesBegun takes in what the share coordinator has done.
func (m *machine) sharesBegun(req *kmsg.InitializeShareGroupStateRequest, answer *kmsg.InitializeShareGroupStateResponse, done func(error)) coord.Result {
	g, asked := m.shareOf(req.GroupID), share.InBeginning(req)
	if g == nil {
		return coord.After(done)
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				m.env.logger.Warn("the state of a share partition cannot be begun, the next heartbeat tries again",
					"group", g.ID, "topic", t.TopicID, "partition", p.Partition, "code", p.ErrorCode)
			}
		}
	}
	g.release(asked)
	c := share.Begin(g.Group)
	c.Begun(asked, answer)
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot record that share partitions have a state", "group", g.ID, "err", err)
		}
		done(err)
		return coord.None()
	}}
}
