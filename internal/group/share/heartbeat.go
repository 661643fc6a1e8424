package share

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/record"
)

// Now is the situation in which a group is changed.
type Now struct {
	View  view.View
	Rules Rules
	// Ms is the time.
	Ms int64
	// Refresh says that topics may have changed since the group was looked at.
	Refresh bool
	// Busy are the partitions whose state the share coordinator is about to begin or to delete.
	Busy Topics
	// Client and Host are where the request comes from.
	Client, Host string
}

// Beaten is what a heartbeat led to.
type Beaten struct {
	Member *Member
	// Tell says that the answer holds the member's partitions.
	Tell bool
	// Begin asks the share coordinator to begin states, once the records are written; nil if there is nothing to begin.
	Begin *kmsg.InitializeShareGroupStateRequest
}

// Heartbeat takes the request of a member that joins (epoch 0) or stays. The request was checked as far as that can be
// done without the group.
func (c *Change) Heartbeat(now Now, req *kmsg.ShareGroupHeartbeatRequest) (Beaten, *kerr.Error) {
	if len(c.Group.Members) >= now.Rules.MaxSize && c.Group.Members[req.MemberID] == nil {
		return Beaten{}, kerr.GroupMaxSizeReached
	}
	before, e := c.memberOf(req)
	if e != nil {
		return Beaten{}, e
	}
	m, reads := c.takeInfo(now, before, req)
	g := c.Group
	raise := reads || g.AssignmentEpoch >= g.Epoch && g.unassigned(now.View)
	if hash := view.Hash(now.View, g.subscribed()); raise || now.Refresh && hash != g.MetadataHash {
		c.writeGroup(g.Epoch+1, hash)
	}
	if c.mayAssign(now.Rules, now.Ms) {
		c.assign(now.View, now.Ms)
	}
	after := c.follow(now.View, m, reads)
	return Beaten{
		Member: after,
		Tell:   req.MemberEpoch == Join || req.SubscribedTopicNames != nil || !equal(before.Assigned, after.Assigned),
		Begin:  c.beginMissing(now),
	}, nil
}

// memberOf finds the member that a heartbeat comes from, or makes it if it joins.
func (c *Change) memberOf(req *kmsg.ShareGroupHeartbeatRequest) (*Member, *kerr.Error) {
	m := c.Group.Members[req.MemberID]
	switch {
	case m == nil && req.MemberEpoch == Join:
		return newMember(strings.Clone(req.MemberID)), nil
	case m == nil:
		return nil, kerr.UnknownMemberID
	}
	return m, modern.CheckEpoch(req.MemberEpoch, m.Epoch, m.PreviousEpoch, true) // partitions are shared: nobody can hold too many
}

// takeInfo takes over what a member says of itself, and reports whether it reads other topics than before.
func (c *Change) takeInfo(now Now, m *Member, req *kmsg.ShareGroupHeartbeatRequest) (*Member, bool) {
	next := *m
	next.Info = said(m.Info, req)
	next.ClientID, next.ClientHost = now.Client, now.Host
	if next.Info.equal(m.Info) && c.Group.Members[m.ID] != nil {
		return m, false
	}
	c.writeInfo(&next)
	return c.Group.Members[m.ID], !slices.Equal(next.Topics, m.Topics)
}

// follow gives a member what the present assignment has for it, of the topics that it reads.
func (c *Change) follow(v view.View, m *Member, reads bool) *Member {
	epoch := c.Group.AssignmentEpoch
	if !reads && m.state == stable && m.Epoch == epoch {
		return m
	}
	next := *m
	if m.Epoch != epoch {
		next.Epoch, next.PreviousEpoch, next.state = epoch, m.Epoch, stable
	}
	next.Assigned = assignor.Partitions{}
	for id, partitions := range c.Group.Targets[m.ID] {
		if name, ok := v.Name(id); ok && slices.Contains(m.Topics, name) {
			next.Assigned[id] = partitions
		}
	}
	if next.sameAssignment(m) {
		return m
	}
	c.writeCurrent(&next)
	return c.Group.Members[m.ID]
}

// beginMissing has states begun of the partitions that members read and that have none (SHARE-4). Where a group meets a
// topic for the first time its share.auto.offset.reset says where it begins; partitions that a topic gets later are read
// from their beginning.
func (c *Change) beginMissing(now Now) *kmsg.InitializeShareGroupStateRequest {
	missing := Topics{}
	for name := range c.Group.subscribed() {
		t := now.View.Topic(name)
		if t == nil {
			continue
		}
		for n := range int32(len(t.Partitions)) {
			_, there := slices.BinarySearch(c.Group.Partitions.Initialized[t.ID].Partitions, n)
			_, busy := slices.BinarySearch(now.Busy[t.ID].Partitions, n)
			if !there && !busy {
				missing.add(t.ID, name, n)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	known := c.Group.Partitions.Initialized
	c.noteBeginning(missing)
	return c.begin(missing, func(id record.UUID, _ int32) int64 {
		if _, met := known[id]; met {
			return firstOffset
		}
		return undecided
	})
}
