package consumer

import (
	"slices"

	"github.com/samsalog/samsa/record"
)

// reconcile takes a member one step towards its target (CurrentAssignmentBuilder of Kafka) and returns it as it
// stands then; owned is what it says it holds. It stays in its epoch until it has given up what it must
// (CONSUMER-4), and gets what others have given up (CONSUMER-2).
func (c *Change) reconcile(v View, m *Member, owned Owned) *Member {
	g := c.Group
	next := m
	switch m.State {
	case Stable:
		switch {
		case m.Epoch != g.AssignmentEpoch:
			next = g.next(v, m, owned)
		case !g.consistent(v, m):
			next = g.strip(v, m, owned)
		}
	case Unrevoked:
		switch {
		case !owned.anyOf(m.Revoking):
			next = g.next(v, m, owned)
		case !g.consistent(v, m):
			next = g.strip(v, m, owned)
		}
	default:
		next = g.next(v, m, owned)
	}
	if !next.sameAssignment(m) {
		c.writeCurrent(next)
		return c.Group.Members[next.ID]
	}
	return m
}

// reads reports whether a member subscribes to a topic that exists.
func (g *Group) reads(v View, m *Member) func(record.UUID) bool {
	names := g.topicsOf(m)
	return func(id record.UUID) bool {
		name, ok := v.Name(id)
		if !ok {
			return false
		}
		_, found := slices.BinarySearch(names, name)
		return found
	}
}

// consistent reports whether a member subscribes to all that it is assigned.
func (g *Group) consistent(v View, m *Member) bool {
	reads := g.reads(v, m)
	for t := range m.Assigned {
		if !reads(t) {
			return false
		}
	}
	return true
}

// strip takes from a member what it no longer subscribes to, between two assignments.
func (g *Group) strip(v View, m *Member, owned Owned) *Member {
	out, reads := *m, g.reads(v, m)
	out.Assigned, out.Revoking = Partitions{}, m.Revoking.union(nil)
	m.Assigned.each(func(t record.UUID, x, epoch int32) {
		if reads(t) {
			out.Assigned.put(t, x, epoch)
		} else {
			out.Revoking.put(t, x, epoch)
		}
	})
	out.PreviousEpoch = m.Epoch
	if owned.anyOf(out.Revoking) {
		out.State = Unrevoked
	} else {
		out.Revoking = m.Revoking
	}
	return &out
}

// next works out what a member keeps, gives up and gets.
func (g *Group) next(v View, m *Member, owned Owned) *Member {
	out, reads := *m, g.reads(v, m)
	kept, revoking, gained, unreleased := Partitions{}, Partitions{}, Partitions{}, false
	target := g.Targets[m.ID]
	m.Assigned.each(func(t record.UUID, x, epoch int32) {
		if _, stays := slices.BinarySearch(target[t], x); stays && reads(t) {
			kept.put(t, x, epoch)
		} else {
			revoking.put(t, x, epoch)
		}
	})
	for t, xs := range target {
		if !reads(t) {
			continue
		}
		for _, x := range xs {
			owner, held := g.owners[place{t, x}]
			switch {
			case kept.has(t, x):
			case held && owner != m.ID:
				unreleased = true
			default:
				gained.put(t, x, g.AssignmentEpoch)
			}
		}
	}
	out.PreviousEpoch, out.Assigned, out.Revoking = m.Epoch, kept, Partitions{}
	switch {
	case len(revoking) > 0 && owned.anyOf(revoking):
		out.State, out.Revoking = Unrevoked, revoking
		return &out
	case unreleased:
		out.State = Unreleased
	default:
		out.State = Stable
	}
	out.Epoch, out.Assigned = g.AssignmentEpoch, kept.union(gained)
	return &out
}

// waits reports whether something of a member's target is still held by another.
func (g *Group) waits(m *Member) bool {
	for t, xs := range g.Targets[m.ID] {
		for _, x := range xs {
			if owner, held := g.owners[place{t, x}]; held && owner != m.ID {
				return true
			}
		}
	}
	return false
}
