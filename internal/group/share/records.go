package share

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/stored"
)

// The record types of share groups.
const (
	typeMember     = 10
	typeGroup      = 11
	typeTarget     = 12
	typeTargetOf   = 13
	typeCurrent    = 14
	typePartitions = 15
)

func (c *Change) writeGroup(epoch int32, hash int64) {
	c.Write(&stored.ShareGroupMetadataKey{GroupID: c.Group.ID}, &stored.ShareGroupMetadataValue{Epoch: epoch, MetadataHash: hash})
}

func (c *Change) writeInfo(m *Member) {
	v := stored.NewShareGroupMemberMetadataValue()
	v.RackID, v.ClientID, v.ClientHost, v.SubscribedTopicNames = m.RackID, m.ClientID, m.ClientHost, m.Topics
	c.Write(&stored.ShareGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

func (c *Change) writeTargetMetadata(epoch int32, timestampMs int64) {
	c.Write(&stored.ShareGroupTargetAssignmentMetadataKey{GroupID: c.Group.ID},
		&stored.ShareGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: timestampMs})
}

func (c *Change) writeTarget(member string, p assignor.Partitions) {
	v := stored.NewShareGroupTargetAssignmentMemberValue()
	for _, t := range sortedIDs(p) {
		x := stored.NewShareGroupTargetAssignmentMemberValueTopicPartition()
		x.TopicID, x.Partitions = t, p[t]
		v.TopicPartitions = append(v.TopicPartitions, x)
	}
	c.Write(&stored.ShareGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, &v)
}

func (c *Change) writeCurrent(m *Member) {
	v := stored.NewShareGroupCurrentMemberAssignmentValue()
	v.MemberEpoch, v.PreviousMemberEpoch, v.State = m.Epoch, m.PreviousEpoch, m.state
	for _, t := range sortedIDs(m.Assigned) {
		x := stored.NewShareGroupCurrentMemberAssignmentValueTopicPartitions()
		x.TopicID, x.Partitions = t, m.Assigned[t]
		v.AssignedPartitions = append(v.AssignedPartitions, x)
	}
	c.Write(&stored.ShareGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

type storedTopic = stored.ShareGroupStatePartitionMetadataValueTopicPartitionsInfo

// writePartitions records the share partitions of the group, if they are others than before.
func (c *Change) writePartitions(p Partitions) {
	p.Known = true
	if p.equal(c.Group.Partitions) {
		return
	}
	v := stored.NewShareGroupStatePartitionMetadataValue()
	v.InitializingTopics, v.InitializedTopics = storedTopics(p.Initializing), storedTopics(p.Initialized)
	for _, id := range sortedIDs(p.Deleting) {
		x := stored.NewShareGroupStatePartitionMetadataValueTopicInfo()
		x.TopicID, x.TopicName = id, p.Deleting[id]
		v.DeletingTopics = append(v.DeletingTopics, x)
	}
	c.Write(&stored.ShareGroupStatePartitionMetadataKey{GroupID: c.Group.ID}, &v)
}

func storedTopics(t Topics) []storedTopic {
	out := make([]storedTopic, 0, len(t))
	for _, id := range t.IDs() {
		x := stored.NewShareGroupStatePartitionMetadataValueTopicPartitionsInfo()
		x.TopicID, x.TopicName, x.Partitions = id, t[id].Name, t[id].Partitions
		out = append(out, x)
	}
	return out
}

func (c *Change) removeCurrent(member string) {
	c.Write(&stored.ShareGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeTarget(member string) {
	c.Write(&stored.ShareGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeInfo(member string) {
	c.Write(&stored.ShareGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: member}, nil)
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
	c.Write(&stored.ShareGroupTargetAssignmentMetadataKey{GroupID: g.ID}, nil)
	for _, id := range ids {
		c.removeInfo(id)
	}
	c.Write(&stored.ShareGroupStatePartitionMetadataKey{GroupID: g.ID}, nil)
	c.Write(&stored.ShareGroupMetadataKey{GroupID: g.ID}, nil)
	return c.Records
}
