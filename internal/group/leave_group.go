package group

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

// LeaveGroup answers a LeaveGroup request (versions 0 to 5). From version 3 on it names several members, each
// with its own result.
func (s *Service) LeaveGroup(_ context.Context, _ Caller, req *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	r := kmsg.NewPtrLeaveGroupResponse()
	r.Version = req.Version
	if req.Group == "" {
		r.ErrorCode = kerr.InvalidGroupID.Code
		return r
	}
	leaving := req.Members
	if req.Version < 3 {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = req.MemberID
		leaving = []kmsg.LeaveGroupRequestMember{one}
	}
	type left struct {
		code    int16
		members []kmsg.LeaveGroupResponseMember
	}
	got := ask(s, req.Group, false, func(m *machine, a *answer[left]) coord.Result {
		members, result := m.leave(req.Group, leaving)
		return withAnswer(result, func(err error) { a.give(left{code(err), members}) })
	}, func(c int16) left { return left{code: c} })
	r.ErrorCode = got.code
	switch {
	case got.code != 0:
	case req.Version < 3:
		r.ErrorCode = got.members[0].ErrorCode
	default:
		r.Members = got.members
	}
	return r
}

// withAnswer lets f answer when the records of r are committed. Without records the answer need not wait for
// anything, but r's own Done still runs.
func withAnswer(r coord.Result, f func(error)) coord.Result {
	done := r.Done
	r.Done = func(err error) coord.Result {
		var more coord.Result
		if done != nil {
			more = done(err)
		}
		f(err)
		return more
	}
	return r
}

func (m *machine) leave(group string, leaving []kmsg.LeaveGroupRequestMember) ([]kmsg.LeaveGroupResponseMember, coord.Result) {
	if k := m.consumerOf(group); k != nil {
		return m.leaveConsumers(k, leaving)
	}
	g := m.groups[group]
	out := make([]kmsg.LeaveGroupResponseMember, 0, len(leaving))
	anyLeft := false
	for _, l := range leaving {
		r := kmsg.NewLeaveGroupResponseMember()
		r.MemberID, r.InstanceID = l.MemberID, l.InstanceID
		e := kerr.UnknownMemberID
		if g != nil {
			e = m.leaveOne(g, l)
		}
		r.ErrorCode = codeOf(e)
		anyLeft = anyLeft || e == nil
		out = append(out, r)
	}
	if !anyLeft {
		return out, coord.None()
	}
	switch g.state {
	case Stable, CompletingRebalance:
		return out, m.rebalanceOrComplete(g, "members have left")
	case PreparingRebalance:
		return out, m.maybeCompleteJoin(g)
	}
	return out, coord.None()
}

// leaveOne removes a member: by its id, or a static one by its instance id alone, which is how administrators
// do it.
func (m *machine) leaveOne(g *classicGroup, l kmsg.LeaveGroupRequestMember) *kerr.Error {
	id := l.MemberID
	switch {
	case id == "":
		if l.InstanceID == nil || g.static[*l.InstanceID] == "" {
			return kerr.UnknownMemberID
		}
		id = g.static[*l.InstanceID]
	case g.pending[id] != nil:
		g.settle(id)
		return nil
	default:
		if e := g.validate(id, l.InstanceID); e != nil {
			return e
		}
	}
	x := g.byID[id]
	// It may wait in JoinGroup, on another connection.
	g.answerJoin(x, joinFailed("", kerr.UnknownMemberID.Code))
	g.answerSync(x, syncFailed(kerr.UnknownMemberID.Code))
	g.remove(id)
	return nil
}
