package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

// Heartbeat answers a Heartbeat request (versions 0 to 4). While the group's partition is read it is answered
// without error, as in Kafka: the member's session begins anew after that.
func (s *Service) Heartbeat(_ context.Context, _ Caller, req *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	r := kmsg.NewPtrHeartbeatResponse()
	r.Version = req.Version
	if req.Group == "" {
		r.ErrorCode = kerr.InvalidGroupID.Code
		return r
	}
	r.ErrorCode = ask(s, req.Group, true, func(m *machine, a *answer[int16]) coord.Result {
		a.give(codeOf(m.heartbeat(req)))
		return coord.None()
	}, func(c int16) int16 { return c })
	if r.ErrorCode == kerr.CoordinatorLoadInProgress.Code {
		r.ErrorCode = 0
	}
	return r
}

func (m *machine) heartbeat(req *kmsg.HeartbeatRequest) *kerr.Error {
	if k := m.consumerOf(req.Group); k != nil {
		return m.beatConsumers(k, req)
	}
	g := m.groups[req.Group]
	if g == nil {
		return kerr.UnknownMemberID
	}
	if e := g.validate(req.MemberID, req.InstanceID); e != nil {
		return e
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	x := g.byID[req.MemberID]
	m.resetSession(g, x, x.sessionTimeoutMs)
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress
	}
	// While the generation is completed it is a heartbeat like others: clients begin before SyncGroup returns.
	return nil
}
