package consumer

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// The record types of consumer groups.
const (
	typeGroup    = 3
	typeTopics   = 4
	typeMember   = 5
	typeTarget   = 6
	typeTargetOf = 7
	typeCurrent  = 8
	typeRegex    = 16
)

func (c *Change) writeGroup(epoch int32, hash int64) {
	c.Write(&stored.ConsumerGroupMetadataKey{GroupID: c.Group.ID}, &stored.ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: hash})
	if c.Group.outdated {
		c.Write(&stored.ConsumerGroupPartitionMetadataKey{GroupID: c.Group.ID}, nil)
	}
}

func (c *Change) writeInfo(m *Member) {
	v := stored.NewConsumerGroupMemberMetadataValue()
	v.InstanceID, v.RackID, v.ClientID, v.ClientHost = m.InstanceID, m.RackID, m.ClientID, m.ClientHost
	v.SubscribedTopicNames, v.SubscribedTopicRegex = m.Topics, &m.Regex
	v.RebalanceTimeoutMs, v.ServerAssignor = m.RebalanceTimeoutMs, m.ServerAssignor
	v.ClassicMemberMetadata = nil // which is not the default of the schema, so it is written
	if m.Classic != nil {
		k := stored.NewConsumerGroupMemberMetadataValueClassicMemberMetadata()
		k.SessionTimeoutMs = m.Classic.SessionTimeoutMs
		for _, p := range m.Classic.Protocols {
			x := stored.NewConsumerGroupMemberMetadataValueClassicProtocol()
			x.Name, x.Metadata = p.Name, p.Metadata
			k.SupportedProtocols = append(k.SupportedProtocols, x)
		}
		v.ClassicMemberMetadata = &k
	}
	c.Write(&stored.ConsumerGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

func (c *Change) writeTargetMetadata(epoch int32, timestampMs int64) {
	c.Write(&stored.ConsumerGroupTargetAssignmentMetadataKey{GroupID: c.Group.ID},
		&stored.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: timestampMs})
}

func (c *Change) writeTarget(member string, p assignor.Partitions) {
	v := stored.NewConsumerGroupTargetAssignmentMemberValue()
	for _, t := range sortedIDs(p) {
		x := stored.NewConsumerGroupTargetAssignmentMemberValueTopicPartition()
		x.TopicID, x.Partitions = t, p[t]
		v.TopicPartitions = append(v.TopicPartitions, x)
	}
	c.Write(&stored.ConsumerGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, &v)
}

func (c *Change) writeCurrent(m *Member) {
	v := stored.NewConsumerGroupCurrentMemberAssignmentValue()
	v.MemberEpoch, v.PreviousMemberEpoch, v.State = m.Epoch, m.PreviousEpoch, int8(m.State)
	v.AssignedPartitions, v.PartitionsPendingRevocation = storedPartitions(m.Assigned), storedPartitions(m.Revoking)
	c.Write(&stored.ConsumerGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: m.ID}, &v)
}

type storedTopic = stored.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions

func storedPartitions(p Partitions) []storedTopic {
	var out []storedTopic
	p.each(func(t record.UUID, x, epoch int32) {
		if len(out) == 0 || out[len(out)-1].TopicID != t {
			next := stored.NewConsumerGroupCurrentMemberAssignmentValueTopicPartitions()
			next.TopicID = t
			out = append(out, next)
		}
		last := &out[len(out)-1]
		last.Partitions, last.AssignmentEpochs = append(last.Partitions, x), append(last.AssignmentEpochs, epoch)
	})
	return out
}

func (c *Change) writeRegex(expression string, x Regex) {
	c.Write(&stored.ConsumerGroupRegularExpressionKey{GroupID: c.Group.ID, RegularExpression: expression},
		&stored.ConsumerGroupRegularExpressionValue{Topics: x.Topics, Version: x.Version, Timestamp: x.TimestampMs})
}

func (c *Change) removeCurrent(member string) {
	c.Write(&stored.ConsumerGroupCurrentMemberAssignmentKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeTarget(member string) {
	c.Write(&stored.ConsumerGroupTargetAssignmentMemberKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeInfo(member string) {
	c.Write(&stored.ConsumerGroupMemberMetadataKey{GroupID: c.Group.ID, MemberID: member}, nil)
}

func (c *Change) removeRegex(expression string) {
	c.Write(&stored.ConsumerGroupRegularExpressionKey{GroupID: c.Group.ID, RegularExpression: expression}, nil)
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
	c.Write(&stored.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.ID}, nil)
	for _, id := range ids {
		c.removeInfo(id)
	}
	for _, x := range slices.Sorted(maps.Keys(g.Regexes)) {
		c.removeRegex(x)
	}
	c.Write(&stored.ConsumerGroupPartitionMetadataKey{GroupID: g.ID}, nil)
	c.Write(&stored.ConsumerGroupMetadataKey{GroupID: g.ID}, nil)
	return c.Records
}
