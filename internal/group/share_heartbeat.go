package group

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/share"
)

type (
	shareRequest  = kmsg.ShareGroupHeartbeatRequest
	shareResponse = kmsg.ShareGroupHeartbeatResponse
)

// ShareGroupHeartbeat answers a ShareGroupHeartbeat request (version 1): how members of share groups join, stay, learn
// their partitions, and leave (KIP-932). Partitions that are new to the group are assigned once the share coordinator has
// begun their state, so the first answer names none of them.
func (s *Service) ShareGroupHeartbeat(_ context.Context, c Caller, req *shareRequest) *shareResponse {
	var r *shareResponse
	switch e := checkShareBeat(req); {
	case !s.servesShares():
		r = shareFailed(kerr.UnsupportedVersion.Code)
	case e != nil:
		r = shareFailed(e.Code)
	default:
		r = ask(s, req.GroupID, false, func(m *machine, a *answer[*shareResponse]) coord.Result {
			return m.shareHeartbeat(c, req, a)
		}, shareFailed)
	}
	r.Version = req.Version
	return r
}

// servesShares reports whether share groups are served.
func (s *Service) servesShares() bool { return s.o.Persister != nil && s.env.settings().ShareProtocol }

func shareFailed(errorCode int16) *shareResponse {
	r := kmsg.NewPtrShareGroupHeartbeatResponse()
	r.ErrorCode = errorCode
	if e := kerr.TypedErrorForCode(errorCode); e != nil {
		r.ErrorMessage = kmsg.StringPtr(e.Description)
	}
	return r
}

// checkShareBeat checks what can be checked without the group.
func checkShareBeat(req *shareRequest) *kerr.Error {
	switch {
	case blank(&req.GroupID), blank(&req.MemberID), blank(req.RackID),
		req.MemberEpoch == share.Join && len(req.SubscribedTopicNames) == 0,
		req.MemberEpoch < share.Leave:
		return kerr.InvalidRequest
	}
	return nil
}

func (m *machine) shareHeartbeat(c Caller, req *shareRequest, a *answer[*shareResponse]) coord.Result {
	fail := func(e *kerr.Error) coord.Result {
		a.give(shareFailed(e.Code))
		return coord.None()
	}
	g, id := m.shareOf(req.GroupID), strings.Clone(req.GroupID)
	switch {
	case g == nil && (req.MemberEpoch != share.Join || m.taken(id)):
		return fail(kerr.GroupIDNotFound)
	case req.MemberEpoch == share.Leave:
		return m.shareLeave(g, req.MemberID, a)
	}
	change := share.Begin(share.New(id))
	if g != nil {
		change = share.Begin(g.Group)
	}
	beaten, e := change.Heartbeat(m.shareNow(id, g, c), req)
	if e != nil {
		return fail(e)
	}
	if g != nil {
		g.refresh = false
	}
	return coord.Result{Records: change.Records, Done: func(err error) coord.Result {
		if err != nil {
			if g != nil {
				g.refresh = true
			}
			a.give(shareFailed(code(err)))
			return coord.None()
		}
		if g := m.shareOf(id); g != nil && g.Members[beaten.Member.ID] != nil {
			m.watchShare(g, beaten.Member.ID)
			if beaten.Begin != nil {
				m.beginShares(g, beaten.Begin)
			}
		}
		a.give(m.shareAnswer(id, beaten))
		return coord.None()
	}}
}

// taken reports whether an id belongs to a group.
func (m *machine) taken(id string) bool {
	return m.groups[id] != nil || m.consumers[id] != nil || m.streams[id] != nil || m.shares[id] != nil
}

func (m *machine) shareAnswer(group string, b share.Beaten) *shareResponse {
	r := kmsg.NewPtrShareGroupHeartbeatResponse()
	r.MemberID, r.MemberEpoch = kmsg.StringPtr(b.Member.ID), b.Member.Epoch
	r.HeartbeatIntervalMillis = int32(m.env.shareConfig(group).HeartbeatInterval.Milliseconds())
	if b.Tell {
		r.Assignment = b.Member.Wire()
	}
	return r
}

func (m *machine) shareLeave(g *shareGroup, member string, a *answer[*shareResponse]) coord.Result {
	x := g.Members[member]
	if x == nil {
		a.give(shareFailed(kerr.UnknownMemberID.Code))
		return coord.None()
	}
	return m.removeShare(g, x, func(err error) {
		if err != nil {
			a.give(shareFailed(code(err)))
			return
		}
		r := kmsg.NewPtrShareGroupHeartbeatResponse()
		r.MemberID, r.MemberEpoch = kmsg.StringPtr(x.ID), share.Leave
		a.give(r)
	})
}
