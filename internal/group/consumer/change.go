package consumer

import (
	"slices"
	"time"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/record"
)

// View is the metadata that a decision rests on.
type View = view.View

// Rules are the settings that a group follows.
type Rules struct {
	// MaxSize bounds the members (group.consumer.max.size).
	MaxSize int
	// Assignors are those that members may ask for, the default first (group.consumer.assignors).
	Assignors []string
	// AssignmentInterval is the least time between two assignments (group.consumer.assignment.interval.ms).
	AssignmentInterval time.Duration
}

// Change is what one request, or the passing of time, does to a group.
type Change struct{ modern.Draft[*Group] }

// Begin starts a change of a group.
func Begin(g *Group) *Change { return &Change{modern.Draft[*Group]{Group: g}} }

// bump raises the epoch of the group.
func (c *Change) bump(v View) { c.writeGroup(c.Group.Epoch+1, view.Hash(v, c.Group.subscribed())) }

// Refresh raises the epoch if the topics that members read are others than before, or have changed.
func (c *Change) Refresh(v View) {
	if view.Hash(v, c.Group.subscribed()) != c.Group.MetadataHash {
		c.bump(v)
	}
}

// mayAssign reports whether it is time for a new assignment.
func (c *Change) mayAssign(r Rules, nowMs int64) bool {
	return c.Group.Wants() && c.Group.Rested(r.AssignmentInterval, nowMs)
}

// assign makes a new target assignment.
func (c *Change) assign(v View, r Rules, nowMs int64) {
	g := c.Group
	assign, ok := assignor.ByName(g.Assignor(r))
	if !ok {
		assign = assignor.Uniform
	}
	made := assign(g.spec(v))
	for _, m := range g.InOrder() {
		if old, ok := g.Targets[m.ID]; !ok || !equalTargets(old, made[m.ID]) {
			c.writeTarget(m.ID, made[m.ID])
		}
	}
	c.writeTargetMetadata(g.Epoch, nowMs)
}

func equalTargets(a, b assignor.Partitions) bool {
	if len(a) != len(b) {
		return false
	}
	for t, ps := range a {
		if !slices.Equal(ps, b[t]) {
			return false
		}
	}
	return true
}

// Assignor is the assignor that most members ask for, else the default.
func (g *Group) Assignor(r Rules) string {
	votes := map[string]int{}
	for _, m := range g.Members {
		if m.ServerAssignor != nil {
			votes[*m.ServerAssignor]++
		}
	}
	best := ""
	for _, name := range r.Assignors {
		if votes[name] > votes[best] {
			best = name
		}
	}
	if best == "" && len(r.Assignors) > 0 {
		best = r.Assignors[0]
	}
	return best
}

func (g *Group) spec(v View) assignor.Spec {
	s := assignor.Spec{Partitions: map[record.UUID]int32{}}
	for _, m := range g.InOrder() {
		x := assignor.Member{ID: m.ID, InstanceID: m.InstanceID, Assigned: g.Targets[m.ID]}
		for _, name := range g.topicsOf(m) {
			if t := v.Topic(name); t != nil {
				x.Topics = append(x.Topics, t.ID)
				s.Partitions[t.ID] = int32(len(t.Partitions))
			}
		}
		s.Members = append(s.Members, x)
	}
	return s
}
