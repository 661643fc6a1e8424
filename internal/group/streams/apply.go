package streams

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/stored"
)

// errTopology means that a stored topology has a negative epoch, or two subtopologies of one id.
var errTopology = errors.New("a topology that no member can have given")

// Apply takes one record of the group into its state; a nil value is a tombstone. Compaction may have removed the
// record before the one that comes, so a record about something unknown is no error. A value that cannot be read is.
func (g *Group) Apply(key, value []byte) error {
	k, err := stored.DecodeKey(key, stored.NewGroupKey)
	if err != nil {
		return err
	}
	switch k := k.(type) {
	case *stored.StreamsGroupMetadataKey:
		return g.applyGroup(value)
	case *stored.StreamsGroupMemberMetadataKey:
		return g.applyInfo(k.MemberID, value)
	case *stored.StreamsGroupTargetAssignmentMetadataKey:
		return g.applyTargetMetadata(value)
	case *stored.StreamsGroupTargetAssignmentMemberKey:
		return g.applyTarget(k.MemberID, value)
	case *stored.StreamsGroupCurrentMemberAssignmentKey:
		return g.applyCurrent(k.MemberID, value)
	case *stored.StreamsGroupTopologyKey:
		return g.applyTopology(value)
	}
	return fmt.Errorf("a record of type %d does not belong to a streams group", k.APIKey())
}

func (g *Group) applyGroup(value []byte) error {
	if value == nil {
		g.Dead = true
		return nil
	}
	v, err := modern.Decode[*stored.StreamsGroupMetadataValue](value, typeGroup)
	if err != nil {
		return err
	}
	g.Epoch, g.MetadataHash, g.ValidatedTopology, g.Dead = v.Epoch, v.MetadataHash, v.ValidatedTopologyEpoch, false
	g.StoredDescription, g.FailedDescription = v.StoredDescriptionTopologyEpoch, v.FailedDescriptionTopologyEpoch
	g.Settings = nil
	for _, s := range v.LastAssignmentConfigs {
		g.Settings = append(g.Settings, Setting{s.Key, s.Value})
	}
	return nil
}

func (g *Group) applyInfo(id string, value []byte) error {
	if value == nil {
		g.drop(id)
		return nil
	}
	v, err := modern.Decode[*stored.StreamsGroupMemberMetadataValue](value, typeMember)
	if err != nil {
		return err
	}
	m := g.memberToChange(id)
	m.Info = Info{
		InstanceID: v.InstanceID, RackID: v.RackID, ClientID: v.ClientID, ClientHost: v.ClientHost,
		RebalanceTimeoutMs: v.RebalanceTimeoutMs, TopologyEpoch: v.TopologyEpoch, ProcessID: v.ProcessID, Tags: map[string]string{},
	}
	if e := v.UserEndpoint; e != nil {
		m.Endpoint = &Endpoint{e.Host, e.Port}
	}
	for _, t := range v.ClientTags {
		m.Tags[t.Key] = t.Value
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

func (g *Group) applyTargetMetadata(value []byte) error {
	if value == nil {
		g.Unassigned()
		return nil
	}
	v, err := modern.Decode[*stored.StreamsGroupTargetAssignmentMetadataValue](value, typeTarget)
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
	v, err := modern.Decode[*stored.StreamsGroupTargetAssignmentMemberValue](value, typeTargetOf)
	if err != nil {
		return err
	}
	target := Assignment{}
	for r, list := range [][]storedTarget{v.ActiveTasks, v.StandbyTasks, v.WarmupTasks} {
		for _, t := range list {
			for _, n := range t.Partitions {
				target[slot{Role(r), task{t.SubtopologyID, n}}] = 0
			}
		}
	}
	g.Targets[id] = target
	return nil
}

func (g *Group) applyCurrent(id string, value []byte) error {
	m := g.memberToChange(id)
	if value == nil {
		if g.Members[id] == nil {
			return nil
		}
		m.Epoch, m.PreviousEpoch, m.State, m.Assigned, m.Revoking = modern.Leave, modern.Leave, Stable, Assignment{}, Assignment{}
		g.put(m)
		return nil
	}
	v, err := modern.Decode[*stored.StreamsGroupCurrentMemberAssignmentValue](value, typeCurrent)
	if err != nil {
		return err
	}
	m.Epoch, m.PreviousEpoch, m.State = v.MemberEpoch, v.PreviousMemberEpoch, MemberState(v.State)
	m.Assigned, m.Revoking = heldIn(assignedLists(v), v.MemberEpoch), heldIn(revokingLists(v), v.MemberEpoch)
	g.put(m)
	return nil
}

// heldIn reads the lists of tasks by role. Where records of before 4.2 have no assignment epochs it is the member's.
func heldIn(lists []*[]storedCurrent, epoch int32) Assignment {
	out := Assignment{}
	for r, list := range lists {
		for _, t := range *list {
			for i, n := range t.Partitions {
				since := int32(0)
				switch {
				case Role(r) != Active:
				case len(t.AssignmentEpochs) == len(t.Partitions):
					since = t.AssignmentEpochs[i]
				default:
					since = epoch
				}
				out[slot{Role(r), task{t.SubtopologyID, n}}] = since
			}
		}
	}
	return out
}

func (g *Group) applyTopology(value []byte) error {
	if value == nil {
		g.Topology = nil
		return nil
	}
	v, err := modern.Decode[*stored.StreamsGroupTopologyValue](value, typeTopology)
	if err != nil {
		return err
	}
	t, e := topologyOf(v)
	if e != nil {
		return errTopology
	}
	g.Topology = t
	return nil
}
