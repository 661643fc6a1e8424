package group

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/group/streams"
)

type (
	tasksRequest  = kmsg.StreamsGroupHeartbeatRequest
	tasksResponse = kmsg.StreamsGroupHeartbeatResponse
)

// firstRecoveryLag is the version of StreamsGroupHeartbeat from which on members are told how far behind a copy may be.
const firstRecoveryLag = 1

// streamsBeat is what a shard answers, and the topics that are then to be created.
type streamsBeat struct {
	response *tasksResponse
	missing  []streams.InternalTopic
}

// StreamsGroupHeartbeat answers a StreamsGroupHeartbeat request (versions 0 and 1): how members of the streams protocol
// join, stay, learn their tasks, tell what they hold, and leave (KIP-1071). Internal topics of the application that do
// not exist are created; the member hears that they are missing, and by a later answer that it has tasks.
func (s *Service) StreamsGroupHeartbeat(_ context.Context, c Caller, req *tasksRequest) *tasksResponse {
	var b streamsBeat
	switch e := checkTasks(req); {
	case !s.env.settings().StreamsProtocol:
		b = tasksFailed(kerr.UnsupportedVersion.Code)
	case e != nil:
		b = tasksFailed(e.Code)
	default:
		b = ask(s, req.Group, false, func(m *machine, a *answer[streamsBeat]) coord.Result {
			return m.streamsHeartbeat(c, req, a)
		}, tasksFailed)
	}
	b.response.Version = req.Version
	if len(b.missing) > 0 {
		s.createInternal(b)
	}
	return b.response
}

// newTasksResponse is an answer without a status; Kafka's is never null.
func newTasksResponse() *tasksResponse {
	r := kmsg.NewPtrStreamsGroupHeartbeatResponse()
	r.Status = []kmsg.StreamsGroupHeartbeatResponseStatus{}
	return r
}

func tasksFailed(errorCode int16) streamsBeat {
	r := newTasksResponse()
	r.ErrorCode = errorCode
	if e := kerr.TypedErrorForCode(errorCode); e != nil {
		r.ErrorMessage = kmsg.StringPtr(e.Description)
	}
	return streamsBeat{response: r}
}

// checkTasks checks what can be checked without the group.
func checkTasks(req *tasksRequest) *kerr.Error {
	joins := req.MemberEpoch == modern.Join
	given := 0
	for _, t := range [][]kmsg.TaskIDs{req.ActiveTasks, req.StandbyTasks, req.WarmupTasks} {
		if t != nil {
			given++
		}
	}
	switch {
	case blank(&req.MemberID), blank(&req.Group), blank(req.InstanceID), blank(req.RackID),
		joins && (req.RebalanceTimeoutMillis == -1 || len(req.ActiveTasks)+len(req.StandbyTasks)+len(req.WarmupTasks) > 0 || req.Topology == nil),
		req.MemberEpoch == modern.LeaveStatic && req.InstanceID == nil,
		req.MemberEpoch < modern.LeaveStatic,
		given != 0 && given != 3,
		!joins && req.Topology != nil:
		return kerr.InvalidRequest
	case joins:
		return streams.CheckTopology(req.Topology)
	}
	return nil
}

func (m *machine) streamsHeartbeat(c Caller, req *tasksRequest, a *answer[streamsBeat]) coord.Result {
	fail := func(e *kerr.Error) coord.Result {
		a.give(tasksFailed(e.Code))
		return coord.None()
	}
	if req.MemberEpoch < modern.Join {
		return m.streamsLeave(req, a)
	}
	before, change, e := m.streamsToBeat(req)
	if e != nil {
		return fail(e)
	}
	id := strings.Clone(req.Group)
	g, live := m.streamsOf(id), streams.NewLive()
	if g != nil {
		live = g.live
	}
	now := m.streamsNow(id, c)
	now.Refresh = g == nil || g.refresh
	beaten, e := change.Heartbeat(now, live, req)
	if e != nil {
		return fail(e)
	}
	if g != nil {
		g.refresh = false
	}
	if beaten.Delay {
		m.delayFirst(id, now.Rules.InitialDelay)
	}
	r := m.tasksAnswer(id, req.Version, beaten)
	if g != nil { // what is known of a group that is not there yet is forgotten, as in Kafka
		r.EndpointInformationEpoch = live.EndpointEpoch
	}
	return coord.Result{Records: append(before, change.Records...), Done: func(err error) coord.Result {
		if err != nil {
			if g != nil {
				g.refresh = true
			}
			a.give(tasksFailed(code(err)))
			return coord.None()
		}
		if g := m.streamsOf(id); g != nil && g.Members[beaten.Member.ID] != nil {
			m.watchTasks(g, g.Members[beaten.Member.ID])
		}
		a.give(streamsBeat{r, beaten.Missing})
		return coord.None()
	}}
}

// streamsToBeat finds the group of a member that joins or stays, as a change that has just begun, with the records that
// must stand before it. A group that does not exist is made for one that joins, also in the place of an empty one of the
// classic protocol.
func (m *machine) streamsToBeat(req *tasksRequest) ([]coord.Record, *streams.Change, *kerr.Error) {
	old, g := m.groups[req.Group], m.streamsOf(req.Group)
	switch {
	case g != nil:
		return nil, streams.Begin(g.Group), nil
	case req.MemberEpoch != modern.Join, m.consumerOf(req.Group) != nil, m.shareOf(req.Group) != nil, old != nil && old.state != Empty:
		return nil, nil, kerr.GroupIDNotFound
	}
	fresh := streams.Begin(streams.New(strings.Clone(req.Group)))
	if old != nil {
		return []coord.Record{groupTombstone(old.id)}, fresh, nil
	}
	return nil, fresh, nil
}

func (m *machine) tasksAnswer(group string, version int16, b streams.Beaten) *tasksResponse {
	own := m.env.streamsConfig(group)
	r := newTasksResponse()
	r.MemberID, r.MemberEpoch = b.Member.ID, b.Member.Epoch
	r.HeartbeatIntervalMillis, r.TaskOffsetIntervalMillis = int32(own.HeartbeatInterval.Milliseconds()), int32(own.TaskOffsetInterval.Milliseconds())
	if version >= firstRecoveryLag {
		r.AcceptableRecoveryLag = own.AcceptableRecoveryLag
	}
	if b.Tell {
		r.ActiveTasks, r.StandbyTasks, r.WarmupTasks = b.Member.Assigned.Tasks(streams.Active), b.Member.Assigned.Tasks(streams.Standby), b.Member.Assigned.Tasks(streams.Warmup)
	}
	for _, s := range b.Statuses {
		r.Status = append(r.Status, kmsg.StreamsGroupHeartbeatResponseStatus{StatusCode: s.Code, StatusDetail: s.Detail})
	}
	r.PartitionsByUserEndpoint = b.Endpoints
	return r
}

// streamsLeave takes the request of a member that leaves, for good or, a static one, for a while.
func (m *machine) streamsLeave(req *tasksRequest, a *answer[streamsBeat]) coord.Result {
	g := m.streamsOf(req.Group)
	if g == nil {
		a.give(tasksFailed(kerr.GroupIDNotFound.Code))
		return coord.None()
	}
	if req.ShutdownApplication {
		g.live.Shutdown(strings.Clone(req.MemberID))
	}
	x, e := g.Named(req.MemberID, req.InstanceID)
	if e != nil {
		a.give(tasksFailed(e.Code))
		return coord.None()
	}
	r := newTasksResponse()
	r.MemberID, r.MemberEpoch = x.ID, req.MemberEpoch
	done := func(err error) {
		if err != nil {
			a.give(tasksFailed(code(err)))
			return
		}
		a.give(streamsBeat{response: r})
	}
	if req.MemberEpoch == modern.Leave {
		return m.removeStreams(g, x, done)
	}
	c := streams.Begin(g.Group)
	c.Away(x)
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result {
		if t := g.members[x.ID]; err == nil && t != nil {
			t.rebalance.Stop()
		}
		done(err)
		return coord.None()
	}}
}

// createInternal creates the internal topics that an application misses. What cannot be created stands in the status
// that tells of them; the next heartbeat tries again.
func (s *Service) createInternal(b streamsBeat) {
	if s.o.CreateInternalTopic == nil {
		return
	}
	var failures []string
	for _, t := range b.missing {
		if err := s.o.CreateInternalTopic(t.Name, t.Partitions, t.ReplicationFactor, t.Configs); err != nil {
			s.o.Logger.Warn("cannot create an internal topic of a streams application", "topic", t.Name, "err", err)
			failures = append(failures, t.Name+" ("+err.Error()+")")
		}
	}
	if len(failures) == 0 {
		return
	}
	for i := range b.response.Status {
		if x := &b.response.Status[i]; x.StatusCode == streams.MissingInternalTopics {
			x.StatusDetail += "; they cannot be created: " + strings.Join(failures, ", ")
		}
	}
}
