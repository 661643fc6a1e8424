package group

import (
	"context"
	"encoding/hex"
	"io"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

// joining is one JoinGroup request on its way. Its strings and bytes are its own.
type joining struct {
	answer               *joinAnswer
	version              int16
	group, memberID      string
	instance             *string
	clientID, clientHost string
	rebalanceTimeoutMs   int32
	sessionTimeoutMs     int32
	protocolType         string
	protocols            []protocol
	reason               string
	// given is the member id that the coordinator made for it, "" if none. pending is set when that id is to
	// be brought back in a second request.
	given   string
	pending *pendingMember
}

// joinFailed is an answer without a generation.
func joinFailed(memberID string, errorCode int16) *joinResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.MemberID, r.ErrorCode, r.Generation = memberID, errorCode, -1
	return r
}

// JoinGroup answers a JoinGroup request (versions 0 to 9): at once with a member id or an error, else when the
// group's next generation begins.
func (s *Service) JoinGroup(ctx context.Context, c Caller, req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	r := *s.joinGroup(ctx, c, req)
	r.Version = req.Version
	return &r
}

func (s *Service) joinGroup(ctx context.Context, c Caller, req *kmsg.JoinGroupRequest) *joinResponse {
	set := s.env.settings()
	timeout := millis(req.SessionTimeoutMillis)
	switch {
	case req.Group == "":
		return joinFailed(req.MemberID, kerr.InvalidGroupID.Code)
	case timeout < set.MinSessionTimeout || timeout > set.MaxSessionTimeout:
		return joinFailed(req.MemberID, kerr.InvalidSessionTimeout.Code)
	}
	j := newJoining(c, req)
	err := s.submit(j.group, coord.Op[*machine]{
		Run:  func(m *machine) coord.Result { return m.join(j) },
		Fail: func(err error) { j.answer.give(joinFailed("", code(err))) },
	})
	if err != nil {
		return joinFailed("", code(err))
	}
	if !c.park(ctx, j.answer.done) {
		s.abandon(j)
		return joinFailed("", kerr.CoordinatorNotAvailable.Code)
	}
	if j.pending != nil && c.Gone != nil {
		s.watch(c.Gone, j)
	}
	return j.answer.value
}

func newJoining(c Caller, req *kmsg.JoinGroupRequest) *joining {
	j := &joining{
		answer: newAnswer[*joinResponse](), version: req.Version,
		group: strings.Clone(req.Group), memberID: strings.Clone(req.MemberID), instance: cloneString(req.InstanceID),
		clientID: strings.Clone(c.ClientID), clientHost: c.ClientHost,
		rebalanceTimeoutMs: req.RebalanceTimeoutMillis, sessionTimeoutMs: req.SessionTimeoutMillis,
		protocolType: strings.Clone(req.ProtocolType), protocols: protocolsOf(req.Protocols),
	}
	if req.Version == 0 { // it has one timeout for both
		j.rebalanceTimeoutMs = req.SessionTimeoutMillis
	}
	if req.Reason != nil {
		j.reason = strings.Clone(*req.Reason)
	}
	return j
}

func cloneString(s *string) *string {
	if s == nil {
		return nil
	}
	return kmsg.StringPtr(strings.Clone(*s))
}

// watch gives an id up that was handed out when the connection it was sent on ends before it is used: nobody
// else will bring it back, and it would hold up the group for the session timeout. (Kafka cannot see that.)
func (s *Service) watch(gone <-chan struct{}, j *joining) {
	s.watchers.Go(func() {
		select {
		case <-gone:
			// A refused operation leaves the id to its session timer.
			_ = s.submit(j.group, coord.Op[*machine]{Run: func(m *machine) coord.Result {
				if g := m.groups[j.group]; g != nil && g.pending[j.given] == j.pending {
					return m.removePending(g, j.given)
				}
				return coord.None()
			}})
		case <-j.pending.settled:
		case <-s.closed:
		}
	})
}

// abandon takes back a join whose client has gone while it waited. A member whose id was never told to anybody
// (versions before 4) cannot come back: without this it would hold up the group until newMemberJoinTimeout.
// Others may ask again with their id, so they stay, as in Kafka.
func (s *Service) abandon(j *joining) {
	_ = s.submit(j.group, coord.Op[*machine]{Run: func(m *machine) coord.Result {
		g := m.groups[j.group]
		if g == nil || j.given == "" || j.instance != nil {
			return coord.None()
		}
		if j.pending != nil && g.pending[j.given] == j.pending {
			return m.removePending(g, j.given)
		}
		if x := g.byID[j.given]; x != nil && x.join == j.answer {
			return m.removeMember(g, x, "the client of "+x.id+" has gone before it knew its id")
		}
		return coord.None()
	}})
}

// newMemberID makes the id of a member: the client id or, for a static member, the instance id, and a UUID.
func (m *machine) newMemberID(prefix string) (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(m.env.rand, u[:]); err != nil {
		return "", err
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u[:])
	return prefix + "-" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}
