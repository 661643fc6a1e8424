package streams

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/group/view"
)

// firstTagStatus is the version of StreamsGroupHeartbeat from which on clients know the status of missing tags.
const firstTagStatus = 1

// Now is the situation in which a group is changed.
type Now struct {
	View  view.View
	Rules Rules
	// Ms is the time.
	Ms int64
	// Refresh says that topics may have changed since the group was looked at.
	Refresh bool
	// Delayed says that the group still waits for more members before its first assignment.
	Delayed bool
	// Client and Host are where the request comes from.
	Client, Host string
}

// Beaten is what a heartbeat led to.
type Beaten struct {
	Member *Member
	// Tell says that the answer holds the member's tasks.
	Tell bool
	// Delay says that the group begins to wait for more members.
	Delay bool
	// Statuses are what the member should know.
	Statuses []Status
	// Missing are internal topics that are to be created.
	Missing []InternalTopic
	// Endpoints are where the instances answer queries, and about what; nil when the member knows.
	Endpoints []kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpoint
}

// Heartbeat takes the request of a member that joins (epoch 0) or stays. The request was checked as far as that can be
// done without the group. What it changes in live stays changed even if the records are not written.
func (c *Change) Heartbeat(now Now, live *Live, req *kmsg.StreamsGroupHeartbeatRequest) (Beaten, *kerr.Error) {
	if c.full(now.Rules, req) {
		return Beaten{}, kerr.GroupMaxSizeReached
	}
	owned := ownedIn(req)
	b := Beaten{Delay: len(c.Group.Members) == 0 && now.Rules.InitialDelay > 0}
	before, e := c.memberOf(req, owned)
	if e != nil {
		return Beaten{}, e
	}
	hadTopology := c.Group.Topology
	m, recompute := c.takeInfo(now, before, req)
	if e := c.takeTopology(req.Topology); e != nil {
		return Beaten{}, e
	}
	if hadTopology != nil && m.TopologyEpoch < hadTopology.Epoch {
		b.Statuses = append(b.Statuses, Status{staleTopology, fmt.Sprintf(
			"the group runs topology %d, this member has %d", hadTopology.Epoch, m.TopologyEpoch)})
	}
	if e := c.raise(now, live, m.ID, req, hadTopology == nil, recompute); e != nil {
		return Beaten{}, e
	}
	epoch, target := c.targetOf(now, live, m.ID, &b)
	b.Member = c.reconcile(m, epoch, target, owned)
	if req.ShutdownApplication {
		live.Shutdown(b.Member.ID)
	}
	c.tell(now, live, before, owned, req, &b)
	return b, nil
}

// full reports whether there is no room for a member that joins.
func (c *Change) full(r Rules, req *kmsg.StreamsGroupHeartbeatRequest) bool {
	g := c.Group
	return req.MemberEpoch == modern.Join && len(g.Members) >= r.MaxSize && g.Members[req.MemberID] == nil &&
		(req.InstanceID == nil || g.Static(*req.InstanceID) == nil)
}

// memberOf finds the member that a heartbeat comes from, or makes it if it joins.
func (c *Change) memberOf(req *kmsg.StreamsGroupHeartbeatRequest, owned Assignment) (*Member, *kerr.Error) {
	if req.InstanceID != nil {
		return c.staticMemberOf(req, owned)
	}
	m := c.Group.Members[req.MemberID]
	switch {
	case m != nil:
		return m, m.checkEpoch(req.MemberEpoch, owned)
	case req.MemberEpoch == modern.Join:
		return newMember(strings.Clone(req.MemberID)), nil
	}
	return nil, kerr.UnknownMemberID
}

// staticMemberOf is memberOf for a static member: its place is that of its instance id. Whoever joins gets the place, if
// the one before has left it, even if that is the same member.
func (c *Change) staticMemberOf(req *kmsg.StreamsGroupHeartbeatRequest, owned Assignment) (*Member, *kerr.Error) {
	m := c.Group.Static(*req.InstanceID)
	switch {
	case m == nil && req.MemberEpoch == modern.Join:
		if old := c.Group.Members[req.MemberID]; old != nil { // it was dynamic, or has another instance id now
			return old, nil
		}
		return newMember(strings.Clone(req.MemberID)), nil
	case m == nil:
		return nil, kerr.UnknownMemberID
	case req.MemberEpoch == modern.Join && m.Epoch != modern.LeaveStatic:
		return nil, kerr.UnreleasedInstanceID
	case req.MemberEpoch == modern.Join:
		return c.replace(m, strings.Clone(req.MemberID)), nil
	case m.ID != req.MemberID:
		return nil, kerr.FencedInstanceID
	}
	return m, m.checkEpoch(req.MemberEpoch, owned)
}

// replace gives the place of a static member to another member id.
func (c *Change) replace(old *Member, id string) *Member {
	target := c.Group.Targets[old.ID]
	c.removeMember(old.ID)
	next := *old
	next.ID, next.Epoch, next.PreviousEpoch = id, modern.Join, modern.Join
	c.writeInfo(&next)
	c.writeTarget(id, target)
	c.writeCurrent(&next)
	return c.Group.Members[id]
}

// checkEpoch fences a member that has missed something (STREAMS-5).
func (m *Member) checkEpoch(epoch int32, owned Assignment) *kerr.Error {
	if e := modern.CheckEpoch(epoch, m.Epoch, m.PreviousEpoch, owned != nil && owned.within(m.Assigned)); e != nil {
		return e
	}
	if known := m.State >= Stable && m.State <= Unreleased; !known && (owned == nil || len(owned) > 0) {
		return kerr.FencedMemberEpoch
	}
	return nil
}

// takeInfo takes over what a member says of itself, and reports whether that is reason for a new assignment. What a
// static member says counts only where assignments depend on it.
func (c *Change) takeInfo(now Now, m *Member, req *kmsg.StreamsGroupHeartbeatRequest) (*Member, bool) {
	next := *m
	next.Info = said(m.Info, req)
	next.ClientID, next.ClientHost = now.Client, now.Host
	if next.Info.equal(m.Info) && c.Group.Members[m.ID] != nil {
		return m, false
	}
	c.writeInfo(&next)
	return c.Group.Members[m.ID], req.InstanceID == nil || next.assignsOtherwise(m.Info)
}

// takeTopology takes over the topology of the first member. Members with an older one are let in and told; another one
// is refused.
func (c *Change) takeTopology(said *kmsg.StreamsGroupHeartbeatRequestTopology) *kerr.Error {
	g := c.Group
	switch {
	case said == nil && g.Topology == nil:
		return kerr.UnknownServerError // the record is missing: Kafka stumbles over it
	case said == nil:
		return nil
	}
	t, e := topologyOf(valueOf(said))
	switch {
	case e != nil:
		return e
	case g.Topology == nil:
		c.writeTopology(t.value)
	case g.Topology.Epoch <= t.Epoch && !g.Topology.equal(t):
		return kerr.InvalidRequest
	}
	return nil
}

// raise looks at the topics, and raises the epoch if there is reason for a new assignment.
func (c *Change) raise(now Now, live *Live, member string, req *kmsg.StreamsGroupHeartbeatRequest, first, recompute bool) *kerr.Error {
	g := c.Group
	hash := g.MetadataHash
	if first || live.configured == nil || now.Refresh {
		if hash = g.Topology.hash(now.View); hash != g.MetadataHash || first || live.configured == nil {
			recompute = recompute || hash != g.MetadataHash
			configured, e := g.Topology.Configure(now.View)
			if e != nil {
				return e
			}
			live.configured = configured
		}
	}
	validated := int32(noTopology)
	if live.configured.ready() {
		validated = g.Topology.Epoch
		if !live.configured.exist(req.ActiveTasks, req.StandbyTasks, req.WarmupTasks) {
			return kerr.InvalidRequest
		}
	}
	if e := live.report(member, req.TaskOffsets, req.TaskEndOffsets); e != nil {
		return e
	}
	settings := now.Rules.settings()
	if recompute || validated != g.ValidatedTopology || !slices.Equal(settings, g.Settings) {
		c.writeGroup(hash, validated, settings)
	}
	return nil
}

// exist reports whether all tasks do.
func (c *Configured) exist(lists ...[]kmsg.TaskIDs) bool {
	for _, list := range lists {
		for _, t := range list {
			s := c.Subtopologies[t.SubtopologyID]
			if s == nil || slices.ContainsFunc(t.Partitions, func(n int32) bool { return n < 0 || n >= s.Tasks }) {
				return false
			}
		}
	}
	return true
}

// targetOf is the assignment that a member goes for, with its epoch. It is made if it is time.
func (c *Change) targetOf(now Now, live *Live, member string, b *Beaten) (int32, Assignment) {
	switch {
	case now.Delayed || b.Delay:
		b.Statuses = append(b.Statuses, Status{assignmentDelayed, "the group waits for more members before its first assignment"})
		return c.Group.AssignmentEpoch, Assignment{}
	case !c.Group.Wants():
	case !c.Group.Rested(now.Rules.AssignmentInterval, now.Ms):
		b.Statuses = append(b.Statuses, Status{assignmentDelayed, "the last assignment was made too short a time ago"})
	default:
		c.assign(live, now.Ms, now.Rules.Standbys)
	}
	return c.Group.AssignmentEpoch, c.Group.Targets[member]
}

// tell works out what the answer tells. A member that says it holds something else than it should has not heard, or not
// done yet, what it was told: it is told again, where Kafka waits until its rebalance timeout is over.
func (c *Change) tell(now Now, live *Live, before *Member, owned Assignment, req *kmsg.StreamsGroupHeartbeatRequest, b *Beaten) {
	m := b.Member
	changed := !m.Assigned.equal(before.Assigned)
	moved := !sameEndpoint(before.Endpoint, m.Endpoint)
	b.Tell = req.MemberEpoch == modern.Join || changed || owned != nil && !owned.undated().equal(m.Assigned.undated())
	if moved || changed && m.Endpoint != nil {
		live.EndpointEpoch++
	}
	if live.EndpointEpoch != req.EndpointInformationEpoch {
		b.Endpoints = c.endpoints(now.View, live)
	}
	if s := live.configured.Status; s != nil {
		b.Statuses = append(b.Statuses, *s)
		b.Missing = live.configured.Missing
	}
	if live.shutdown != "" {
		b.Statuses = append(b.Statuses, Status{shutdownApplication, fmt.Sprintf(
			"member %s asks the whole application to end", live.shutdown)})
	}
	if lacks := m.lacks(now.Rules.RackTags); len(lacks) > 0 && req.Version >= firstTagStatus {
		b.Statuses = append(b.Statuses, Status{missingClientTags, fmt.Sprintf(
			"this client lacks the tags %s, by which copies are spread over racks (client.tag.NAME)", strings.Join(lacks, ", "))})
	}
}
