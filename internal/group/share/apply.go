package share

import (
	"fmt"
	"slices"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// Apply takes one record of the group into its state; a nil value is a tombstone. Compaction may have removed the
// record before the one that comes, so a record about something unknown is no error. A value that cannot be read is.
func (g *Group) Apply(key, value []byte) error {
	k, err := stored.DecodeKey(key, stored.NewGroupKey)
	if err != nil {
		return err
	}
	switch k := k.(type) {
	case *stored.ShareGroupMetadataKey:
		return g.applyGroup(value)
	case *stored.ShareGroupMemberMetadataKey:
		return g.applyInfo(k.MemberID, value)
	case *stored.ShareGroupTargetAssignmentMetadataKey:
		return g.applyTargetMetadata(value)
	case *stored.ShareGroupTargetAssignmentMemberKey:
		return g.applyTarget(k.MemberID, value)
	case *stored.ShareGroupCurrentMemberAssignmentKey:
		return g.applyCurrent(k.MemberID, value)
	case *stored.ShareGroupStatePartitionMetadataKey:
		return g.applyPartitions(value)
	}
	return fmt.Errorf("a record of type %d does not belong to a share group", k.APIKey())
}

func (g *Group) applyGroup(value []byte) error {
	if value == nil {
		g.Dead = true
		return nil
	}
	v, err := modern.Decode[*stored.ShareGroupMetadataValue](value, typeGroup)
	if err == nil {
		g.Epoch, g.MetadataHash, g.Dead = v.Epoch, v.MetadataHash, false
	}
	return err
}

func (g *Group) applyInfo(id string, value []byte) error {
	if value == nil {
		g.Dismiss(id)
		return nil
	}
	v, err := modern.Decode[*stored.ShareGroupMemberMetadataValue](value, typeMember)
	if err != nil {
		return err
	}
	m := g.memberToChange(id)
	m.Info = Info{RackID: v.RackID, ClientID: v.ClientID, ClientHost: v.ClientHost, Topics: names(v.SubscribedTopicNames)}
	g.Admit(m)
	return nil
}

// memberToChange is a copy of a member, or a new one.
func (g *Group) memberToChange(id string) *Member {
	if old := g.Members[id]; old != nil {
		m := *old
		return &m
	}
	return newMember(id)
}

func (g *Group) applyTargetMetadata(value []byte) error {
	if value == nil {
		g.Unassigned()
		return nil
	}
	v, err := modern.Decode[*stored.ShareGroupTargetAssignmentMetadataValue](value, typeTarget)
	if err == nil {
		g.Assigned(v.AssignmentEpoch, v.AssignmentTimestamp)
	}
	return err
}

func (g *Group) applyTarget(id string, value []byte) error {
	if value == nil {
		delete(g.Targets, id)
		return nil
	}
	v, err := modern.Decode[*stored.ShareGroupTargetAssignmentMemberValue](value, typeTargetOf)
	if err != nil {
		return err
	}
	p := assignor.Partitions{}
	for _, t := range v.TopicPartitions {
		put(p, t.TopicID, t.Partitions)
	}
	g.Targets[id] = p
	return nil
}

func put(p assignor.Partitions, topic record.UUID, partitions []int32) {
	if len(partitions) > 0 {
		p[topic] = slices.Sorted(slices.Values(partitions))
	}
}

func (g *Group) applyCurrent(id string, value []byte) error {
	m := g.memberToChange(id)
	if value == nil {
		if g.Members[id] == nil {
			return nil
		}
		m.Epoch, m.PreviousEpoch, m.state, m.Assigned = Leave, Leave, stable, assignor.Partitions{}
		g.Admit(m)
		return nil
	}
	v, err := modern.Decode[*stored.ShareGroupCurrentMemberAssignmentValue](value, typeCurrent)
	if err != nil {
		return err
	}
	m.Epoch, m.PreviousEpoch, m.state, m.Assigned = v.MemberEpoch, v.PreviousMemberEpoch, v.State, assignor.Partitions{}
	for _, t := range v.AssignedPartitions {
		put(m.Assigned, t.TopicID, t.Partitions)
	}
	g.Admit(m)
	return nil
}

func (g *Group) applyPartitions(value []byte) error {
	if value == nil {
		g.Partitions = Partitions{}
		return nil
	}
	v, err := modern.Decode[*stored.ShareGroupStatePartitionMetadataValue](value, typePartitions)
	if err != nil {
		return err
	}
	next := Partitions{Known: true, Initializing: topicsOf(v.InitializingTopics), Initialized: topicsOf(v.InitializedTopics), Deleting: map[record.UUID]string{}}
	for _, t := range v.DeletingTopics {
		next.Deleting[t.TopicID] = t.TopicName
	}
	g.Partitions = next
	return nil
}

func topicsOf(in []storedTopic) Topics {
	out := Topics{}
	for _, t := range in {
		out.add(t.TopicID, t.TopicName, t.Partitions...)
	}
	return out
}
