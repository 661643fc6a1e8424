package share

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/group/assignor"
)

// firstEpoch is the epoch of a group before anything was written about it.
const firstEpoch = 1

// Group is one share group.
type Group struct {
	ID string
	// Epoch is raised whenever there is reason for a new assignment; AssignmentEpoch is that of Targets and never above.
	Epoch, AssignmentEpoch int32
	// AssignmentMs is when Targets were made; 0 when that does not matter.
	AssignmentMs int64
	// MetadataHash is over the topics that members read; 0 for none.
	MetadataHash int64
	Members      map[string]*Member
	// Targets are what members shall read, by member id.
	Targets map[string]assignor.Partitions
	// Partitions are the share partitions of the group.
	Partitions Partitions
	// Dead is set when the group's record was removed.
	Dead bool
}

// New returns a group of which nothing is written yet.
func New(id string) *Group {
	return &Group{
		ID: id, Epoch: firstEpoch, AssignmentEpoch: firstEpoch,
		Members: map[string]*Member{}, Targets: map[string]assignor.Partitions{},
	}
}

func (g *Group) clone() *Group {
	c := *g
	c.Members, c.Targets = maps.Clone(g.Members), maps.Clone(g.Targets)
	return &c
}

// State is the word that Kafka's tools print.
func (g *Group) State() string {
	if len(g.Members) == 0 {
		return "Empty"
	}
	return "Stable"
}

// sortedMembers are the members by id.
func (g *Group) sortedMembers() []*Member {
	out := make([]*Member, 0, len(g.Members))
	for _, id := range slices.Sorted(maps.Keys(g.Members)) {
		out = append(out, g.Members[id])
	}
	return out
}

// subscribed are the names that any member reads.
func (g *Group) subscribed() map[string]struct{} {
	out := map[string]struct{}{}
	for _, m := range g.Members {
		for _, t := range m.Topics {
			out[t] = struct{}{}
		}
	}
	return out
}

// ReadsAny reports whether a member reads one of the topics.
func (g *Group) ReadsAny(names map[string]struct{}) bool {
	for _, m := range g.Members {
		for _, t := range m.Topics {
			if _, ok := names[t]; ok {
				return true
			}
		}
	}
	return false
}
