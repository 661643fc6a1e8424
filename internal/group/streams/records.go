package streams

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
)

// The record types of streams groups.
const (
	typeGroup    = 17
	typeMember   = 19
	typeTarget   = 20
	typeTargetOf = 21
	typeCurrent  = 22
	typeTopology = 23
)

// writeGroup raises the epoch of the group.
func (c *Change) writeGroup(hash int64, validated int32, settings []Setting) {
	g := c.Group
	v := stored.NewStreamsGroupMetadataValue()
	v.Epoch, v.MetadataHash, v.ValidatedTopologyEpoch = g.Epoch+1, hash, validated
	v.StoredDescriptionTopologyEpoch, v.FailedDescriptionTopologyEpoch = g.StoredDescription, g.FailedDescription
	for _, s := range settings {
		x := stored.NewStreamsGroupMetadataValueLastAssignmentConfig()
		x.Key, x.Value = s.Key, s.Value
		v.LastAssignmentConfigs = append(v.LastAssignmentConfigs, x)
	}
	c.Write(&stored.StreamsGroupMetadataKey{GroupID: g.ID}, &v)
}

func (c *Change) writeInfo(m *Member) {
	v := stored.NewStreamsGroupMemberMetadataValue()
	v.InstanceID, v.RackID, v.ClientID, v.ClientHost = m.InstanceID, m.RackID, m.ClientID, m.ClientHost
	v.RebalanceTimeoutMs, v.TopologyEpoch, v.ProcessID = m.RebalanceTimeoutMs, m.TopologyEpoch, m.ProcessID
	if m.Endpoint != nil {
		e := stored.NewStreamsGroupMemberMetadataValueEndpoint()
		e.Host, e.Port = m.Endpoint.Host, m.Endpoint.Port
		v.UserEndpoint = &e
	}
	for _, k := range slices.Sorted(maps.Keys(m.Tags)) {
		x := stored.NewStreamsGroupMemberMetadataValueKeyValue()
		x.Key, x.Value = k, m.Tags[k]
		v.ClientTags = append(v.ClientTags, x)
	}
	c.Write(&stored.StreamsGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

func (c *Change) writeTopology(v *stored.StreamsGroupTopologyValue) {
	c.Write(&stored.StreamsGroupTopologyKey{GroupID: c.Group.ID}, v)
}

func (c *Change) writeTargetMetadata(epoch int32, timestampMs int64) {
	c.Write(&stored.StreamsGroupTargetAssignmentMetadataKey{GroupID: c.Group.ID},
		&stored.StreamsGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: timestampMs})
}

func (c *Change) writeTarget(member string, a Assignment) {
	v := stored.NewStreamsGroupTargetAssignmentMemberValue()
	for r, to := range []*[]storedTarget{&v.ActiveTasks, &v.StandbyTasks, &v.WarmupTasks} {
		for _, p := range a.portions(Role(r)) {
			x := stored.NewStreamsGroupTargetAssignmentMemberValueTaskIds()
			x.SubtopologyID, x.Partitions = p.subtopology, p.numbers
			*to = append(*to, x)
		}
	}
	c.Write(&stored.StreamsGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, &v)
}

type (
	storedTarget  = stored.StreamsGroupTargetAssignmentMemberValueTaskIds
	storedCurrent = stored.StreamsGroupCurrentMemberAssignmentValueTaskIds
)

func (c *Change) writeCurrent(m *Member) {
	v := stored.NewStreamsGroupCurrentMemberAssignmentValue()
	v.MemberEpoch, v.PreviousMemberEpoch, v.State = m.Epoch, m.PreviousEpoch, int8(m.State)
	for r, to := range assignedLists(&v) {
		*to = storedPortions(m.Assigned, Role(r))
	}
	for r, to := range revokingLists(&v) {
		*to = storedPortions(m.Revoking, Role(r))
	}
	c.Write(&stored.StreamsGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

// assignedLists and revokingLists are the lists of tasks of a record of type 22, by role.
func assignedLists(v *stored.StreamsGroupCurrentMemberAssignmentValue) []*[]storedCurrent {
	return []*[]storedCurrent{&v.ActiveTasks, &v.StandbyTasks, &v.WarmupTasks}
}

func revokingLists(v *stored.StreamsGroupCurrentMemberAssignmentValue) []*[]storedCurrent {
	return []*[]storedCurrent{&v.ActiveTasksPendingRevocation, &v.StandbyTasksPendingRevocation, &v.WarmupTasksPendingRevocation}
}

// storedPortions are the tasks of a role; only those that are run stand with their epochs.
func storedPortions(a Assignment, r Role) (out []storedCurrent) {
	for _, p := range a.portions(r) {
		x := stored.NewStreamsGroupCurrentMemberAssignmentValueTaskIds()
		x.SubtopologyID, x.Partitions = p.subtopology, p.numbers
		if r == Active {
			x.AssignmentEpochs = p.epochs
		}
		out = append(out, x)
	}
	return out
}

func (c *Change) removeCurrent(member string) {
	c.Write(&stored.StreamsGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeTarget(member string) {
	c.Write(&stored.StreamsGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeInfo(member string) {
	c.Write(&stored.StreamsGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

// removeMember removes what is stored of a member.
func (c *Change) removeMember(member string) {
	c.removeCurrent(member)
	c.removeTarget(member)
	c.removeInfo(member)
}

// Tombstones remove every record of a group, in Kafka's order.
func (g *Group) Tombstones() []coord.Record {
	c := Begin(g)
	ids := slices.Sorted(maps.Keys(g.Members))
	for _, id := range ids {
		c.removeCurrent(id)
	}
	for _, id := range ids {
		c.removeTarget(id)
	}
	c.Write(&stored.StreamsGroupTargetAssignmentMetadataKey{GroupID: g.ID}, nil)
	for _, id := range ids {
		c.removeInfo(id)
	}
	c.Write(&stored.StreamsGroupMetadataKey{GroupID: g.ID}, nil)
	c.Write(&stored.StreamsGroupTopologyKey{GroupID: g.ID}, nil)
	return c.Records
}
