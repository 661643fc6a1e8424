package share

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/view"
)

// Describe shows the group.
func (g *Group) Describe(v view.View) kmsg.ShareGroupDescribeResponseGroup {
	d := kmsg.NewShareGroupDescribeResponseGroup()
	d.GroupID, d.GroupState, d.GroupEpoch, d.AssignmentEpoch, d.Assignor = g.ID, g.State(), g.Epoch, g.AssignmentEpoch, AssignorName
	for _, m := range g.InOrder() {
		x := kmsg.NewShareGroupDescribeResponseGroupMember()
		x.MemberID, x.RackID, x.MemberEpoch, x.ClientID, x.ClientHost = m.ID, m.RackID, m.Epoch, m.ClientID, m.ClientHost
		x.SubscribedTopicNames, x.Assignment = m.Topics, described(v, m.Assigned)
		d.Members = append(d.Members, x)
	}
	return d
}

func described(v view.View, p assignor.Partitions) kmsg.ShareGroupDescribeResponseGroupMemberAssignment {
	a := kmsg.NewShareGroupDescribeResponseGroupMemberAssignment()
	for _, id := range sortedIDs(p) {
		if name, ok := v.Name(id); ok {
			t := kmsg.NewShareGroupDescribeResponseGroupMemberAssignmentTopicPartition()
			t.TopicID, t.Topic, t.Partitions = id, name, p[id]
			a.TopicPartitions = append(a.TopicPartitions, t)
		}
	}
	return a
}

// Wire is what a member is told of its partitions.
func (m *Member) Wire() *kmsg.ShareGroupHeartbeatResponseAssignment {
	a := kmsg.NewShareGroupHeartbeatResponseAssignment()
	for _, id := range sortedIDs(m.Assigned) {
		t := kmsg.NewShareGroupHeartbeatResponseAssignmentTopicPartition()
		t.TopicID, t.Partitions = id, m.Assigned[id]
		a.TopicPartitions = append(a.TopicPartitions, t)
	}
	return &a
}
