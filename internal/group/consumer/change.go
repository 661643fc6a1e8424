package consumer

import (
	"slices"
	"time"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/internal/stored"
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
type Change struct {
	// Group is the group as it will be; the one that was given to Begin until something is written.
	Group *Group
	// Records bring the group there.
	Records []coord.Record
	given   *Group
}

// Begin starts a change of a group.
func Begin(g *Group) *Change { return &Change{Group: g, given: g} }

// write adds a record, and applies it to the copy.
func (c *Change) write(key, value stored.Message) {
	if c.Group == c.given {
		c.Group = c.given.clone()
	}
	r := recordOf(key, value)
	c.Records = append(c.Records, r)
	if err := c.Group.Apply(r.Key, r.Value); err != nil {
		panic("consumer: BUG: a record that was just made cannot be read: " + err.Error())
	}
}

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
	g := c.Group
	return g.Epoch > g.AssignmentEpoch && nowMs-g.AssignmentMs >= r.AssignmentInterval.Milliseconds()
}

// assign makes a new target assignment.
func (c *Change) assign(v View, r Rules, nowMs int64) {
	g := c.Group
	assign, ok := assignor.ByName(g.Assignor(r))
	if !ok {
		assign = assignor.Uniform
	}
	made := assign(g.spec(v))
	for _, m := range g.sortedMembers() {
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
	for _, m := range g.sortedMembers() {
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
