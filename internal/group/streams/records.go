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

// valueVersion is the only version of all of their values.
const valueVersion = 0

// recordOf makes a record; a nil value makes a tombstone.
func recordOf(key, value stored.Message) coord.Record {
	r := coord.Record{Key: stored.AppendKey(nil, key)}
	if value != nil {
		r.Value = stored.AppendValue(nil, value, valueVersion)
	}
	return r
}

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
	c.write(&stored.StreamsGroupMetadataKey{GroupID: g.ID}, &v)
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
	c.write(&stored.StreamsGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

func (c *Change) writeTopology(v *stored.StreamsGroupTopologyValue) {
	c.write(&stored.StreamsGroupTopologyKey{GroupID: c.Group.ID}, v)
}

func (c *Change) writeTargetMetadata(epoch int32, timestampMs int64) {
	c.write(&stored.StreamsGroupTargetAssignmentMetadataKey{GroupID: c.Group.ID},
		&stored.StreamsGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: timestampMs})
}

func (c *Change) writeTarget(member string, a Assignment) {
	ids := func(t Tasks) (out []stored.StreamsGroupTargetAssignmentMemberValueTaskIds) {
		t.Subtopologies(func(s string, numbers, _ []int32) {
			x := stored.NewStreamsGroupTargetAssignmentMemberValueTaskIds()
			x.SubtopologyID, x.Partitions = s, numbers
			out = append(out, x)
		})
		return out
	}
	v := stored.NewStreamsGroupTargetAssignmentMemberValue()
	v.ActiveTasks, v.StandbyTasks, v.WarmupTasks = ids(a.Active), ids(a.Standby), ids(a.Warmup)
	c.write(&stored.StreamsGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, &v)
}

type storedTasks = stored.StreamsGroupCurrentMemberAssignmentValueTaskIds

func (c *Change) writeCurrent(m *Member) {
	v := stored.NewStreamsGroupCurrentMemberAssignmentValue()
	v.MemberEpoch, v.PreviousMemberEpoch, v.State = m.Epoch, m.PreviousEpoch, int8(m.State)
	v.ActiveTasks, v.StandbyTasks, v.WarmupTasks = withEpochs(m.Assigned.Active), withoutEpochs(m.Assigned.Standby), withoutEpochs(m.Assigned.Warmup)
	v.ActiveTasksPendingRevocation = withEpochs(m.Revoking.Active)
	v.StandbyTasksPendingRevocation, v.WarmupTasksPendingRevocation = withoutEpochs(m.Revoking.Standby), withoutEpochs(m.Revoking.Warmup)
	c.write(&stored.StreamsGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

func withEpochs(t Tasks) (out []storedTasks) {
	t.Subtopologies(func(s string, numbers, epochs []int32) {
		x := stored.NewStreamsGroupCurrentMemberAssignmentValueTaskIds()
		x.SubtopologyID, x.Partitions, x.AssignmentEpochs = s, numbers, epochs
		out = append(out, x)
	})
	return out
}

func withoutEpochs(t Tasks) (out []storedTasks) {
	t.Subtopologies(func(s string, numbers, _ []int32) {
		x := stored.NewStreamsGroupCurrentMemberAssignmentValueTaskIds()
		x.SubtopologyID, x.Partitions = s, numbers
		out = append(out, x)
	})
	return out
}

func (c *Change) removeCurrent(member string) {
	c.write(&stored.StreamsGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeTarget(member string) {
	c.write(&stored.StreamsGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeInfo(member string) {
	c.write(&stored.StreamsGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: member}, nil)
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
	c.write(&stored.StreamsGroupTargetAssignmentMetadataKey{GroupID: g.ID}, nil)
	for _, id := range ids {
		c.removeInfo(id)
	}
	c.write(&stored.StreamsGroupMetadataKey{GroupID: g.ID}, nil)
	c.write(&stored.StreamsGroupTopologyKey{GroupID: g.ID}, nil)
	return c.Records
}
