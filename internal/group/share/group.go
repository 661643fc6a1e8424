package share

import (
	"maps"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/modern"
)

// Group is one share group.
type Group struct {
	ID string
	modern.Progress
	modern.Roster[*Member]
	// Targets are what members shall read, by member id.
	Targets map[string]assignor.Partitions
	// Partitions are the share partitions of the group.
	Partitions Partitions
}

// New returns a group of which nothing is written yet.
func New(id string) *Group {
	return &Group{ID: id, Progress: modern.Begun(), Roster: modern.NewRoster[*Member](), Targets: map[string]assignor.Partitions{}}
}

// Clone is a copy that can be changed without the group.
func (g *Group) Clone() *Group {
	c := *g
	c.Roster, c.Targets = g.Copy(), maps.Clone(g.Targets)
	return &c
}

// State is the word that Kafka's tools print.
func (g *Group) State() string {
	if len(g.Members) == 0 {
		return "Empty"
	}
	return "Stable"
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
