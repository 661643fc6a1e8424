package group

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/consumer"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/record"
)

type (
	beatRequest  = kmsg.ConsumerGroupHeartbeatRequest
	beatResponse = kmsg.ConsumerGroupHeartbeatResponse
)

// firstClientID is the version of ConsumerGroupHeartbeat from which on clients make their member ids (KIP-1082).
const firstClientID = 1

// ConsumerGroupHeartbeat answers a ConsumerGroupHeartbeat request (versions 0 and 1): how members of the consumer
// protocol join, stay, learn their partitions, tell what they hold, and leave (KIP-848).
func (s *Service) ConsumerGroupHeartbeat(_ context.Context, c Caller, req *beatRequest) *beatResponse {
	set := s.env.settings()
	var r *beatResponse
	switch e := checkBeat(req, set.ConsumerAssignors); {
	case !set.ConsumerProtocol:
		r = beatFailed(kerr.UnsupportedVersion.Code)
	case e != nil:
		r = beatFailed(e.Code)
	default:
		r = ask(s, req.Group, false, func(m *machine, a *answer[*beatResponse]) coord.Result {
			return m.consumerHeartbeat(c, req, a)
		}, beatFailed)
	}
	r.Version = req.Version
	return r
}

func beatFailed(errorCode int16) *beatResponse {
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	r.ErrorCode = errorCode
	if e := kerr.TypedErrorForCode(errorCode); e != nil {
		r.ErrorMessage = kmsg.StringPtr(e.Description)
	}
	return r
}

func blank(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }

// checkBeat checks what can be checked without the group.
func checkBeat(req *beatRequest, assignors []string) *kerr.Error {
	noID := strings.TrimSpace(req.MemberID) == ""
	joins := req.MemberEpoch == modern.Join
	switch {
	case blank(&req.Group), blank(req.InstanceID), blank(req.RackID),
		noID && (!joins || req.Version >= firstClientID),
		joins && (req.RebalanceTimeoutMillis == -1 || req.Topics == nil || len(req.Topics) > 0),
		joins && req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil,
		req.MemberEpoch == modern.LeaveStatic && req.InstanceID == nil,
		req.MemberEpoch < modern.LeaveStatic:
		return kerr.InvalidRequest
	case req.ServerAssignor != nil && !slices.Contains(assignors, *req.ServerAssignor):
		return kerr.UnsupportedAssignor
	}
	return nil
}

func (m *machine) consumerHeartbeat(c Caller, req *beatRequest, a *answer[*beatResponse]) coord.Result {
	fail := func(e *kerr.Error) coord.Result {
		a.give(beatFailed(e.Code))
		return coord.None()
	}
	if req.MemberEpoch < modern.Join {
		return m.consumerLeave(req, a)
	}
	before, change, e := m.consumerToBeat(req)
	if e != nil {
		return fail(e)
	}
	id, err := m.consumerID(req.MemberID)
	if err != nil {
		m.env.logger.Error("no random bytes for a member id", "err", err)
		return fail(kerr.UnknownServerError)
	}
	now := m.now(req.Group, c)
	g := m.consumerOf(req.Group)
	now.Refresh = g == nil || g.refresh
	beaten, e := change.Heartbeat(now, id, req)
	if e != nil {
		return fail(e)
	}
	if g != nil {
		g.refresh = false
	}
	m.sendAway(m.groups[req.Group])
	group := strings.Clone(req.Group)
	return coord.Result{Records: append(before, change.Records...), Done: func(err error) coord.Result {
		if err != nil {
			if g != nil {
				g.refresh = true
			}
			a.give(beatFailed(code(err)))
			return coord.None()
		}
		m.beaten(group, id)
		a.give(m.beatAnswer(group, beaten))
		return coord.None()
	}}
}

// consumerToBeat finds the group of a member that joins or stays, as a change that has just begun, with the records
// that must stand before it. A group that does not exist is made for one that joins; so is one of the classic protocol
// that may change over.
func (m *machine) consumerToBeat(req *beatRequest) ([]coord.Record, *consumer.Change, *kerr.Error) {
	joins := req.MemberEpoch == modern.Join
	old := m.groups[req.Group]
	switch g := m.consumerOf(req.Group); {
	case g != nil:
		return nil, consumer.Begin(g.Group), nil
	case !joins, m.shareOf(req.Group) != nil, m.streamsOf(req.Group) != nil:
		return nil, nil, kerr.GroupIDNotFound
	case old == nil:
		return nil, consumer.Begin(consumer.New(req.Group)), nil
	case old.state == Empty:
		return []coord.Record{groupTombstone(old.id)}, consumer.Begin(consumer.New(req.Group)), nil
	case !m.mayUpgrade(old):
		return nil, nil, kerr.GroupIDNotFound
	}
	return m.fromClassic(old)
}

// consumerID is the id of a member: its own, or one that is made as Kafka makes it.
func (m *machine) consumerID(given string) (string, error) {
	if given != "" {
		return strings.Clone(given), nil
	}
	var u record.UUID
	if _, err := io.ReadFull(m.env.rand, u[:]); err != nil {
		return "", err
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u.String(), nil
}

// beaten starts the clocks after a heartbeat was written: those of the member, and in a group that was just made from
// a classic one those of all.
func (m *machine) beaten(group, id string) {
	g := m.consumerOf(group)
	if g == nil {
		return
	}
	for other, x := range g.Members {
		if other == id || g.members[other] == nil {
			m.watchMember(g, x)
		}
	}
	if g.Unresolved() {
		m.resolveIn(g, 0)
	}
}

func (m *machine) beatAnswer(group string, b consumer.Beaten) *beatResponse {
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	r.MemberID, r.MemberEpoch = kmsg.StringPtr(b.Member.ID), b.Member.Epoch
	r.HeartbeatIntervalMillis = int32(m.env.consumerConfig(group).HeartbeatInterval.Milliseconds())
	if b.Tell {
		a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
		b.Member.Assigned.Topics(func(id record.UUID, partitions []int32) {
			t := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
			t.TopicID, t.Partitions = id, partitions
			a.Topics = append(a.Topics, t)
		})
		r.Assignment = &a
	}
	return r
}

// consumerLeave takes the request of a member that leaves, for good or, a static one, for a while.
func (m *machine) consumerLeave(req *beatRequest, a *answer[*beatResponse]) coord.Result {
	g := m.consumerOf(req.Group)
	if g == nil {
		a.give(beatFailed(kerr.GroupIDNotFound.Code))
		return coord.None()
	}
	x, e := g.Named(req.MemberID, req.InstanceID)
	if e != nil {
		a.give(beatFailed(e.Code))
		return coord.None()
	}
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	r.MemberID, r.MemberEpoch = kmsg.StringPtr(x.ID), req.MemberEpoch
	done := func(err error) {
		if err != nil {
			r = beatFailed(code(err))
		}
		a.give(r)
	}
	if req.MemberEpoch == modern.Leave {
		return m.removeConsumers(g, done, x)
	}
	c := consumer.Begin(g.Group)
	c.Away(x)
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result {
		if err == nil && m.consumers[g.ID] == g && g.Members[x.ID] != nil {
			clocksOf(g.members, x.ID).rebalance.Stop()
		}
		done(err)
		return coord.None()
	}}
}
