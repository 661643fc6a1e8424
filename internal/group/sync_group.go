package group

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

func syncFailed(errorCode int16) *syncResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.ErrorCode, r.MemberAssignment = errorCode, []byte{}
	return r
}

// SyncGroup answers a SyncGroup request (versions 0 to 5): with the member's assignment, once the leader has
// given it and it is written.
func (s *Service) SyncGroup(ctx context.Context, c Caller, req *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	r := *s.syncGroup(ctx, c, req)
	r.Version = req.Version
	return &r
}

func (s *Service) syncGroup(ctx context.Context, c Caller, req *kmsg.SyncGroupRequest) *syncResponse {
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		return syncFailed(kerr.InconsistentGroupProtocol.Code)
	}
	if req.Group == "" {
		return syncFailed(kerr.InvalidGroupID.Code)
	}
	y := newSyncing(req)
	err := s.submit(y.group, coord.Op[*machine]{
		Run:  func(m *machine) coord.Result { return m.sync(y) },
		Fail: func(err error) { y.answer.give(syncFailed(code(err))) },
	})
	if err != nil {
		return syncFailed(code(err))
	}
	if !c.park(ctx, y.answer.done) {
		return syncFailed(kerr.CoordinatorNotAvailable.Code)
	}
	return y.answer.value
}

// syncing is one SyncGroup request on its way. Its strings and bytes are its own: the client may go, and its
// buffers with it, before the shard has come to it.
type syncing struct {
	answer             *syncAnswer
	group, memberID    string
	instance           *string
	generation         int32
	protocolType, name *string
	assignment         map[string][]byte
}

func newSyncing(req *kmsg.SyncGroupRequest) *syncing {
	y := &syncing{
		answer: newAnswer[*syncResponse](),
		group:  strings.Clone(req.Group), memberID: strings.Clone(req.MemberID), instance: cloneString(req.InstanceID),
		generation: req.Generation, protocolType: cloneString(req.ProtocolType), name: cloneString(req.Protocol),
		assignment: make(map[string][]byte, len(req.GroupAssignment)),
	}
	for _, x := range req.GroupAssignment {
		y.assignment[strings.Clone(x.MemberID)] = append([]byte{}, x.MemberAssignment...)
	}
	return y
}

// sync takes a SyncGroup request (GroupMetadataManager.classicGroupSync).
func (m *machine) sync(y *syncing) coord.Result {
	if k := m.consumerOf(y.group); k != nil {
		return m.syncConsumers(k, y)
	}
	g := m.groups[y.group]
	if g == nil || g.state == Empty {
		y.answer.give(syncFailed(kerr.UnknownMemberID.Code))
		return coord.None()
	}
	if e := checkSync(g, y); e != nil {
		y.answer.give(syncFailed(e.Code))
		return coord.None()
	}
	x := g.byID[y.memberID]
	switch g.state {
	case PreparingRebalance:
		y.answer.give(syncFailed(kerr.RebalanceInProgress.Code))
	case CompletingRebalance:
		g.awaitSync(x, y.answer)
		m.synced(g, x)
		if g.isLeader(x.id) {
			return m.assign(g, y)
		}
	case Stable:
		m.synced(g, x)
		y.answer.give(assigned(g, x))
	}
	return coord.None()
}

func checkSync(g *classicGroup, y *syncing) *kerr.Error {
	if e := g.validate(y.memberID, y.instance); e != nil {
		return e
	}
	switch {
	case y.generation != g.generation:
		return kerr.IllegalGeneration
	case y.protocolType != nil && *y.protocolType != g.protocolType,
		y.name != nil && g.protocol != nil && *y.name != *g.protocol:
		return kerr.InconsistentGroupProtocol
	}
	return nil
}

// synced notes that a member of the generation has sent SyncGroup.
func (m *machine) synced(g *classicGroup, x *member) {
	delete(g.pendingSync, x.id)
	if len(g.pendingSync) == 0 {
		g.syncTimer.Stop()
	}
}

// assign writes the leader's assignment and then lets all members go that wait for it. Members that the leader
// has forgotten get an empty one.
func (m *machine) assign(g *classicGroup, y *syncing) coord.Result {
	assignment, generation := y.assignment, g.generation
	return coord.Result{Records: []coord.Record{groupRecord(g, assignment)}, Applied: true, Done: func(err error) coord.Result {
		// Somebody may have joined meanwhile; then this assignment is of no use to anybody.
		if m.groups[g.id] != g || g.state != CompletingRebalance || g.generation != generation {
			return coord.None()
		}
		if err != nil {
			m.env.logger.Warn("cannot record the assignment of a group", "group", g.id, "generation", generation, "err", err)
			m.failSync(g, code(err))
			return m.rebalanceOrComplete(g, "the assignment could not be written")
		}
		m.stabilize(g, assignment)
		return coord.None()
	}}
}

// stabilize gives all members their assignment.
func (m *machine) stabilize(g *classicGroup, assignment map[string][]byte) {
	for _, x := range g.members {
		x.assignment = assignment[x.id]
	}
	m.enter(g, Stable)
	m.env.counters.completedRebalances.Add(1)
	for _, x := range g.members {
		if g.answerSync(x, assigned(g, x)) {
			m.resetSession(g, x, x.sessionTimeoutMs)
		}
	}
}

// assigned is the answer to a member of a stable group.
func assigned(g *classicGroup, x *member) *syncResponse {
	r := syncFailed(0)
	r.ProtocolType = kmsg.StringPtr(g.protocolType)
	r.Protocol = g.protocol
	if x.assignment != nil {
		r.MemberAssignment = x.assignment
	}
	return r
}
