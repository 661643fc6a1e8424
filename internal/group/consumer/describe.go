package consumer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/record"
)

// The kinds of members that ConsumerGroupDescribe tells from version 1 on.
const (
	classicMember  = 0
	consumerMember = 1
)

// Describe shows the group.
func (g *Group) Describe(v View, r Rules) kmsg.ConsumerGroupDescribeResponseGroup {
	d := kmsg.NewConsumerGroupDescribeResponseGroup()
	d.Group, d.State, d.Epoch, d.AssignmentEpoch, d.AssignorName = g.ID, g.State(), g.Epoch, g.AssignmentEpoch, g.Assignor(r)
	for _, m := range g.InOrder() {
		x := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		x.MemberID, x.InstanceID, x.RackID, x.MemberEpoch = m.ID, m.InstanceID, m.RackID, m.Epoch
		x.ClientID, x.ClientHost, x.SubscribedTopics, x.SubscribedTopicRegex = m.ClientID, m.ClientHost, m.Topics, &m.Regex
		x.Assignment, x.TargetAssignment = described(v, m.held()), described(v, g.Targets[m.ID])
		x.MemberType = consumerMember
		if m.IsClassic() {
			x.MemberType = classicMember
		}
		d.Members = append(d.Members, x)
	}
	return d
}

// held are the partitions that a member has, also those that it is to give up.
func (m *Member) held() assignor.Partitions {
	out := assignor.Partitions{}
	m.Assigned.union(m.Revoking).each(func(t record.UUID, x, _ int32) { out[t] = append(out[t], x) })
	return out
}

func described(v View, p assignor.Partitions) kmsg.Assignment {
	a := kmsg.NewAssignment()
	for _, id := range sortedIDs(p) {
		if name, ok := v.Name(id); ok {
			t := kmsg.NewAssignmentTopicPartition()
			t.TopicID, t.Topic, t.Partitions = id, name, p[id]
			a.TopicPartitions = append(a.TopicPartitions, t)
		}
	}
	return a
}
