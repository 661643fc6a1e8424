package consumer

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/group/modern"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Away notes that a static member leaves for a while. It keeps its partitions, except those that it was to give up.
// Its session goes on.
func (c *Change) Away(m *Member) {
	next := *m
	next.Epoch, next.State, next.Assigned, next.Revoking = modern.LeaveStatic, Stable, m.Assigned.since(0), Partitions{}
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
