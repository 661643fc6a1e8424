package consumer

import (
	"fmt"
	"slices"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/stored"
)

// Apply takes one record of the group into its state; a nil value is a tombstone. Compaction may have removed the
// record before the one that comes, so a record about something unknown is no error. A value that cannot be read is.
func (g *Group) Apply(key, value []byte) error {
	k, err := stored.DecodeKey(key, stored.NewGroupKey)
	if err != nil {
		return err
	}
	switch k := k.(type) {
	case *stored.ConsumerGroupMetadataKey:
		return g.applyGroup(value)
	case *stored.ConsumerGroupPartitionMetadataKey:
		g.outdated = value != nil
	case *stored.ConsumerGroupMemberMetadataKey:
		return g.applyInfo(k.MemberID, value)
	case *stored.ConsumerGroupTargetAssignmentMetadataKey:
		return g.applyTargetMetadata(value)
	case *stored.ConsumerGroupTargetAssignmentMemberKey:
		return g.applyTarget(k.MemberID, value)
	case *stored.ConsumerGroupCurrentMemberAssignmentKey:
		return g.applyCurrent(k.MemberID, value)
	case *stored.ConsumerGroupRegularExpressionKey:
		return g.applyRegex(k.RegularExpression, value)
	default:
		return fmt.Errorf("a record of type %d does not belong to a consumer group", k.APIKey())
	}
	return nil
}

func (g *Group) applyGroup(value []byte) error {
	if value == nil {
		g.Dead = true
		return nil
	}
	v, err := modern.Decode[*stored.ConsumerGroupMetadataValue](value, typeGroup)
	if err == nil {
		g.Epoch, g.MetadataHash, g.Dead = v.Epoch, v.MetadataHash, false
	}
	return err
}

func (g *Group) applyInfo(id string, value []byte) error {
	if value == nil {
		g.drop(id)
		return nil
	}
	v, err := modern.Decode[*stored.ConsumerGroupMemberMetadataValue](value, typeMember)
	if err != nil {
		return err
	}
	m := g.memberToChange(id)
	m.Info = Info{
		InstanceID: v.InstanceID, RackID: v.RackID, ClientID: v.ClientID, ClientHost: v.ClientHost,
		Topics: names(v.SubscribedTopicNames), RebalanceTimeoutMs: v.RebalanceTimeoutMs, ServerAssignor: v.ServerAssignor,
	}
	if v.SubscribedTopicRegex != nil {
		m.Regex = *v.SubscribedTopicRegex
	}
	// The schema's default, of a record that does not say, is an empty description: also no member of the old protocol.
	if k := v.ClassicMemberMetadata; k != nil && len(k.SupportedProtocols) > 0 {
		m.Classic = &Classic{SessionTimeoutMs: k.SessionTimeoutMs}
		for _, p := range k.SupportedProtocols {
			m.Classic.Protocols = append(m.Classic.Protocols, Protocol{p.Name, p.Metadata})
		}
	}
	g.put(m)
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

// names puts topic names in order and leaves repetitions out.
func names(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

func (g *Group) applyTargetMetadata(value []byte) error {
	if value == nil {
		g.Unassigned()
		return nil
	}
	v, err := modern.Decode[*stored.ConsumerGroupTargetAssignmentMetadataValue](value, typeTarget)
	if err == nil {
		g.Progress.Assigned(v.AssignmentEpoch, v.AssignmentTimestamp)
	}
	return err
}

func (g *Group) applyTarget(id string, value []byte) error {
	if value == nil {
		delete(g.Targets, id)
		return nil
	}
	v, err := modern.Decode[*stored.ConsumerGroupTargetAssignmentMemberValue](value, typeTargetOf)
	if err != nil {
		return err
	}
	p := assignor.Partitions{}
	for _, t := range v.TopicPartitions {
		if len(t.Partitions) > 0 {
			p[t.TopicID] = slices.Sorted(slices.Values(t.Partitions))
		}
	}
	g.Targets[id] = p
	return nil
}

func (g *Group) applyCurrent(id string, value []byte) error {
	m := g.memberToChange(id)
	if value == nil {
		if g.Members[id] == nil {
			return nil
		}
		m.Epoch, m.PreviousEpoch, m.State, m.Assigned, m.Revoking = modern.Leave, modern.Leave, Stable, Partitions{}, Partitions{}
		g.put(m)
		return nil
	}
	v, err := modern.Decode[*stored.ConsumerGroupCurrentMemberAssignmentValue](value, typeCurrent)
	if err != nil {
		return err
	}
	m.Epoch, m.PreviousEpoch, m.State = v.MemberEpoch, v.PreviousMemberEpoch, MemberState(v.State)
	m.Assigned, m.Revoking = partitionsOf(v.AssignedPartitions, v.MemberEpoch), partitionsOf(v.PartitionsPendingRevocation, v.MemberEpoch)
	g.put(m)
	return nil
}

// partitionsOf reads stored partitions. Records of before 4.4 have no assignment epochs: the member's then.
func partitionsOf(in []storedTopic, epoch int32) Partitions {
	out := Partitions{}
	for _, t := range in {
		for i, p := range t.Partitions {
			since := epoch
			if i < len(t.AssignmentEpochs) {
				since = t.AssignmentEpochs[i]
			}
			out.put(t.TopicID, p, since)
		}
	}
	return out
}

func (g *Group) applyRegex(expression string, value []byte) error {
	if value == nil {
		delete(g.Regexes, expression)
		return nil
	}
	v, err := modern.Decode[*stored.ConsumerGroupRegularExpressionValue](value, typeRegex)
	if err == nil {
		g.Regexes[expression] = Regex{Topics: names(v.Topics), Version: v.Version, TimestampMs: v.Timestamp}
	}
	return err
}
