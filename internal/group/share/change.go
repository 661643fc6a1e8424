package share

import (
	"slices"
	"time"

	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/record"
)

// Rules are the settings that a group follows.
type Rules struct {
	// MaxSize bounds the members (group.share.max.size).
	MaxSize int
	// AssignmentInterval is the least time between two assignments (share.assignment.interval.ms).
	AssignmentInterval time.Duration
}

// Change is what one request, or the passing of time, does to a group.
type Change struct{ modern.Draft[*Group] }

// Begin starts a change of a group.
func Begin(g *Group) *Change { return &Change{modern.Draft[*Group]{Group: g}} }

// mayAssign reports whether there is reason for a new assignment and it is time for one.
func (c *Change) mayAssign(r Rules, nowMs int64) bool {
	return c.Group.Wants() && c.Group.Rested(r.AssignmentInterval, nowMs)
}

// assign makes a new target assignment of the partitions that have a state (SHARE-2).
func (c *Change) assign(v view.View, nowMs int64) {
	g := c.Group
	var readers []*reader
	assignable := map[record.UUID][]int32{}
	for _, m := range g.InOrder() {
		x := &reader{id: m.ID, topics: map[record.UUID]struct{}{}, had: g.Targets[m.ID]}
		for _, name := range m.Topics {
			if t := v.Topic(name); t != nil {
				x.topics[t.ID] = struct{}{}
				assignable[t.ID] = g.Partitions.Initialized[t.ID].Partitions
			}
		}
		readers = append(readers, x)
	}
	simple(readers, assignable)
	for _, x := range readers {
		if old, ok := g.Targets[x.id]; !ok || !equal(old, x.gets) {
			c.writeTarget(x.id, x.gets)
		}
	}
	c.writeTargetMetadata(g.Epoch, nowMs)
}

// unassigned reports whether there are partitions that members read, that have a state, and that nobody was assigned.
func (g *Group) unassigned(v view.View) bool {
	if len(g.Members) == 0 || len(g.Partitions.Initialized) == 0 {
		return false
	}
	assigned := Topics{}
	for _, target := range g.Targets {
		for id, partitions := range target {
			assigned.add(id, "", partitions...)
		}
	}
	subscribed := g.subscribed()
	for id, t := range g.Partitions.Initialized {
		if _, reads := subscribed[t.Name]; !reads {
			continue
		}
		if x := v.Topic(t.Name); x != nil && x.ID == id && !slices.Equal(assigned[id].Partitions, t.Partitions) {
			return true
		}
	}
	return false
}
