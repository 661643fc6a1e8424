package consumer

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Leaving finds the member that a request to leave names; instance is nil for a dynamic one.
func (g *Group) Leaving(id string, instance *string) (*Member, *kerr.Error) {
	m := g.Members[id]
	if instance != nil {
		m = g.StaticMember(*instance)
	}
	switch {
	case m == nil:
		return nil, kerr.UnknownMemberID
	case m.ID != id:
		return nil, kerr.FencedInstanceID
	}
	return m, nil
}

// Away notes that a static member leaves for a while. It keeps its partitions, except those that it was to give up.
// Its session goes on.
func (c *Change) Away(m *Member) {
	next := *m
	next.Epoch, next.State, next.Assigned, next.Revoking = LeaveStatic, Stable, m.Assigned.since(0), Partitions{}
	if !next.sameAssignment(m) {
		c.writeCurrent(&next)
	}
}

// Remove takes members out of the group. A group without members has no assignment to wait for.
func (c *Change) Remove(v View, members ...*Member) {
	for _, m := range members {
		c.removeMember(m.ID)
		c.dropRegex(m.Regex)
	}
	c.bump(v)
	if len(c.Group.Members) == 0 {
		c.writeTargetMetadata(c.Group.Epoch, 0)
	}
}
