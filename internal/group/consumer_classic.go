package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/consumer"
)

// What follows serves members of the classic protocol in a consumer group, while its members change over one by one
// (KIP-848, online migration). Their generation is their member epoch; the coordinator assigns, so nobody is leader and
// nobody waits.

// joinConsumers takes a JoinGroup request to a consumer group with members.
func (m *machine) joinConsumers(g *consumerGroup, j *joining) coord.Result {
	in := consumer.Joining{
		ID: j.memberID, Unknown: j.memberID == "", InstanceID: j.instance, SessionMs: j.sessionTimeoutMs, TimeoutMs: j.rebalanceTimeoutMs,
	}
	for _, p := range j.protocols {
		in.Protocols = append(in.Protocols, consumer.Protocol{Name: p.name, Metadata: p.metadata})
	}
	now := m.now(g.ID, Caller{ClientID: j.clientID, ClientHost: j.clientHost})
	now.Refresh = g.refresh
	if e := g.CanJoin(now.Rules, j.protocolType, in); e != nil {
		j.answer.give(joinFailed(j.memberID, e.Code))
		return coord.None()
	}
	var err error
	if in.ID, err = m.consumerID(j.memberID); err != nil {
		m.env.logger.Error("no random bytes for a member id", "err", err)
		j.answer.give(joinFailed("", kerr.UnknownServerError.Code))
		return coord.None()
	}
	if in.Unknown && j.instance == nil && j.version >= 4 { // the client must come back with the id (KIP-394)
		j.answer.give(joinFailed(in.ID, kerr.MemberIDRequired.Code))
		return coord.None()
	}
	c := consumer.Begin(g.Group)
	x, _, e := c.JoinClassic(now, in)
	if e != nil {
		j.answer.give(joinFailed(j.memberID, e.Code))
		return coord.None()
	}
	g.refresh = false
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result { return m.joinedConsumers(g, j, x, err) }}
}

func (m *machine) joinedConsumers(g *consumerGroup, j *joining, x *consumer.Member, err error) coord.Result {
	if err != nil {
		g.refresh = true
		j.answer.give(joinFailed(j.memberID, code(err)))
		return coord.None()
	}
	r := joinFailed(x.ID, 0)
	r.Generation, r.ProtocolType, r.Protocol = x.Epoch, kmsg.StringPtr(consumerProtocolType), kmsg.StringPtr(x.Protocol())
	j.answer.give(r)
	if m.consumerOf(g.ID) != g || g.Members[x.ID] == nil {
		return coord.None()
	}
	m.watchMember(g, g.Members[x.ID])
	t := clocksOf(g.members, x.ID)
	t.join.Stop()
	m.removeAfter(g, x.ID, &t.sync, millis(j.rebalanceTimeoutMs), "it did not ask for its assignment in time")
	if m.mayDowngrade(g, "") { // it took the place of the last member of the consumer protocol
		return m.toClassic(g, "", func(error) {})
	}
	return coord.None()
}

// syncConsumers answers a SyncGroup request to a consumer group.
func (m *machine) syncConsumers(g *consumerGroup, y *syncing) coord.Result {
	x, e := g.ClassicMember(y.memberID, y.instance, y.generation)
	switch {
	case e != nil:
	case y.protocolType != nil && *y.protocolType != consumerProtocolType, y.name != nil && *y.name != x.Protocol():
		e = kerr.InconsistentGroupProtocol
	case !g.MaySync(x):
		m.awaitJoin(g, x)
		e = kerr.RebalanceInProgress
	}
	if e != nil {
		y.answer.give(syncFailed(e.Code))
		return coord.None()
	}
	clocksOf(g.members, x.ID).sync.Stop()
	m.watchMember(g, x)
	r := syncFailed(0)
	r.ProtocolType, r.Protocol = kmsg.StringPtr(consumerProtocolType), kmsg.StringPtr(x.Protocol())
	r.MemberAssignment = x.EmbeddedAssignment(m.view())
	return coord.After(func(err error) {
		if err != nil {
			r = syncFailed(code(err))
		}
		y.answer.give(r)
	})
}

// beatConsumers answers a Heartbeat request to a consumer group.
func (m *machine) beatConsumers(g *consumerGroup, req *kmsg.HeartbeatRequest) *kerr.Error {
	x, e := g.ClassicMember(req.MemberID, req.InstanceID, req.Generation)
	if e != nil {
		return e
	}
	m.watchMember(g, x)
	if consumer.Begin(g.Group).MustRejoin(m.now(g.ID, Caller{}), x) {
		m.awaitJoin(g, x)
		return kerr.RebalanceInProgress
	}
	return nil
}

// awaitJoin removes a member that was told to join again and does not.
func (m *machine) awaitJoin(g *consumerGroup, x *consumer.Member) {
	if t := clocksOf(g.members, x.ID); !t.join.Running() {
		m.removeAfter(g, x.ID, &t.join, millis(x.RebalanceTimeoutMs), "it did not join the rebalance in time")
	}
}

// leaveConsumers takes a LeaveGroup request to a consumer group. Administrators may remove static members of either
// protocol by their instance id.
func (m *machine) leaveConsumers(g *consumerGroup, leaving []kmsg.LeaveGroupRequestMember) ([]kmsg.LeaveGroupResponseMember, coord.Result) {
	out := make([]kmsg.LeaveGroupResponseMember, 0, len(leaving))
	var gone []*consumer.Member
	seen := map[string]bool{}
	for _, l := range leaving {
		r := kmsg.NewLeaveGroupResponseMember()
		r.MemberID, r.InstanceID = l.MemberID, l.InstanceID
		x, e := leavingConsumer(g, l)
		switch {
		case e == nil && seen[x.ID]:
			e = kerr.UnknownMemberID
		case e == nil:
			seen[x.ID] = true
			gone = append(gone, x)
		}
		r.ErrorCode = codeOf(e)
		out = append(out, r)
	}
	if len(gone) == 0 {
		return out, coord.None()
	}
	return out, m.removeConsumers(g, func(error) {}, gone...)
}

func leavingConsumer(g *consumerGroup, l kmsg.LeaveGroupRequestMember) (*consumer.Member, *kerr.Error) {
	if l.MemberID == "" {
		if l.InstanceID == nil {
			return nil, kerr.UnknownMemberID
		}
		if x := g.Static(*l.InstanceID); x != nil {
			return x, nil
		}
		return nil, kerr.UnknownMemberID
	}
	x, e := g.Named(l.MemberID, l.InstanceID)
	if e == nil && !x.IsClassic() {
		e = kerr.UnknownMemberID
	}
	return x, e
}
