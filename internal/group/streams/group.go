package streams

import (
	"maps"
	"slices"
)

// firstEpoch is the epoch of a group before anything was written about it.
const firstEpoch = 1

// task names one task.
type task struct {
	subtopology string
	n           int32
}

// holder is a process that holds a copy of a task.
type holder struct {
	task
	process string
}

// Setting is one of the settings that an assignment was made with.
type Setting struct{ Key, Value string }

// Group is one streams group.
type Group struct {
	ID string
	// Epoch is raised whenever there is reason for a new assignment; AssignmentEpoch is that of Targets and never above.
	Epoch, AssignmentEpoch int32
	// AssignmentMs is when Targets were made; 0 when that does not matter.
	AssignmentMs int64
	// MetadataHash is over the topics that the topology needs; 0 for none.
	MetadataHash int64
	// Topology is what the application reads, writes and keeps; nil before the first member said so.
	Topology *Topology
	// ValidatedTopology is the epoch of the topology if all of its topics were there when the epoch was raised; else -1.
	ValidatedTopology int32
	// Settings are those that the last epoch was raised with, in order.
	Settings []Setting
	// StoredDescription and FailedDescription are topology epochs that a plugin of Apache Kafka's has dealt with; they
	// are kept as they are found.
	StoredDescription, FailedDescription int32
	Members                              map[string]*Member
	// Targets are what members shall have, by member id.
	Targets map[string]Assignment
	// Dead is set when the group's record was removed.
	Dead bool
	// static maps instance ids to member ids. active maps tasks to the process that runs them; standby and warmup count
	// the members of a process that hold a copy.
	static          map[string]string
	active          map[task]string
	standby, warmup map[holder]int
}

// New returns a group of which nothing is written yet.
func New(id string) *Group {
	return &Group{
		ID: id, Epoch: firstEpoch, AssignmentEpoch: firstEpoch,
		ValidatedTopology: noTopology, StoredDescription: noTopology, FailedDescription: noTopology,
		Members: map[string]*Member{}, Targets: map[string]Assignment{},
		static: map[string]string{}, active: map[task]string{}, standby: map[holder]int{}, warmup: map[holder]int{},
	}
}

func (g *Group) clone() *Group {
	c := *g
	c.Members, c.Targets, c.static = maps.Clone(g.Members), maps.Clone(g.Targets), maps.Clone(g.static)
	c.active, c.standby, c.warmup = maps.Clone(g.active), maps.Clone(g.standby), maps.Clone(g.warmup)
	return &c
}

// State is the word that Kafka's tools print.
func (g *Group) State() string {
	switch {
	case len(g.Members) == 0:
		return "Empty"
	case g.Topology == nil || g.Topology.Epoch != g.ValidatedTopology:
		return "NotReady"
	case g.Epoch > g.AssignmentEpoch:
		return "Assigning"
	}
	for _, m := range g.Members {
		if !m.reached(g.AssignmentEpoch) {
			return "Reconciling"
		}
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

// StaticMember is the member of an instance id; nil if there is none.
func (g *Group) StaticMember(instance string) *Member { return g.Members[g.static[instance]] }

// target is what a member shall have.
func (g *Group) target(id string) Assignment {
	if t, ok := g.Targets[id]; ok {
		return t
	}
	return NewAssignment()
}

// put gives a member its place; nil takes the place away.
func (g *Group) put(id string, m *Member) {
	if old := g.Members[id]; old != nil {
		g.hold(old, -1)
		if old.InstanceID != nil && g.static[*old.InstanceID] == id {
			delete(g.static, *old.InstanceID)
		}
	}
	if m == nil {
		delete(g.Members, id)
		return
	}
	g.Members[id] = m
	g.hold(m, 1)
	if m.InstanceID != nil {
		g.static[*m.InstanceID] = id
	}
}

// hold notes that a member holds its tasks (by 1), or does not any more (by -1).
func (g *Group) hold(m *Member, by int) {
	for _, held := range []Assignment{m.Assigned, m.Revoking} {
		held.Active.each(func(s string, n, _ int32) {
			switch t := (task{s, n}); {
			case by > 0:
				g.active[t] = m.ProcessID
			case g.active[t] == m.ProcessID:
				delete(g.active, t)
			}
		})
		held.Standby.each(func(s string, n, _ int32) { count(g.standby, holder{task{s, n}, m.ProcessID}, by) })
		held.Warmup.each(func(s string, n, _ int32) { count(g.warmup, holder{task{s, n}, m.ProcessID}, by) })
	}
}

func count(m map[holder]int, h holder, by int) {
	m[h] += by
	if m[h] <= 0 {
		delete(m, h)
	}
}

// IsSubscribed reports whether the group's members read a topic.
func (g *Group) IsSubscribed(topic string) bool {
	if len(g.Members) == 0 || g.Topology == nil {
		return false
	}
	_, reads := g.Topology.sources[topic]
	return reads
}

// NeedsAny reports whether the topology needs one of the topics.
func (g *Group) NeedsAny(names map[string]struct{}) bool {
	if g.Topology == nil {
		return false
	}
	for name := range g.Topology.required {
		if _, ok := names[name]; ok {
			return true
		}
	}
	return false
}
