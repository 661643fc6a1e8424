package streams

import (
	"maps"

	"github.com/samsalog/samsa/internal/group/modern"
)

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
	// Progress of a group, whose MetadataHash is over the topics that the topology needs.
	modern.Progress
	modern.Roster[*Member]
	// Topology is what the application reads, writes and keeps; nil before the first member said so.
	Topology *Topology
	// ValidatedTopology is the epoch of the topology if all of its topics were there when the epoch was raised; else -1.
	ValidatedTopology int32
	// Settings are those that the last epoch was raised with, in order.
	Settings []Setting
	// StoredDescription and FailedDescription are topology epochs that a plugin of Apache Kafka's has dealt with; they
	// are kept as they are found.
	StoredDescription, FailedDescription int32
	// Targets are what members shall have, by member id.
	Targets map[string]Assignment
	// runs maps tasks to the process that runs them; copies counts the members of a process that hold a copy.
	runs   map[task]string
	copies map[holder]int
}

// New returns a group of which nothing is written yet.
func New(id string) *Group {
	return &Group{
		ID: id, Progress: modern.Begun(), Roster: modern.NewRoster[*Member](),
		ValidatedTopology: noTopology, StoredDescription: noTopology, FailedDescription: noTopology,
		Targets: map[string]Assignment{}, runs: map[task]string{}, copies: map[holder]int{},
	}
}

// Clone is a copy that can be changed without the group.
func (g *Group) Clone() *Group {
	c := *g
	c.Roster, c.Targets, c.runs, c.copies = g.Copy(), maps.Clone(g.Targets), maps.Clone(g.runs), maps.Clone(g.copies)
	return &c
}

// State is the word that Kafka's tools print.
func (g *Group) State() string {
	switch {
	case len(g.Members) == 0:
		return "Empty"
	case g.Topology == nil || g.Topology.Epoch != g.ValidatedTopology:
		return "NotReady"
	case g.Wants():
		return "Assigning"
	}
	for _, m := range g.Members {
		if !m.reached(g.AssignmentEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// put gives a member its place, with what it holds.
func (g *Group) put(m *Member) {
	if before := g.Admit(m); before != nil {
		g.hold(before, -1)
	}
	g.hold(m, 1)
}

// drop takes the place of a member away.
func (g *Group) drop(id string) {
	if before := g.Dismiss(id); before != nil {
		g.hold(before, -1)
	}
}

// hold notes that a member holds its tasks (by 1), or does not any more (by -1).
func (g *Group) hold(m *Member, by int) {
	for _, held := range []Assignment{m.Assigned, m.Revoking} {
		for s := range held {
			switch {
			case s.Role != Active:
				h := holder{s.task, m.ProcessID}
				if g.copies[h] += by; g.copies[h] <= 0 {
					delete(g.copies, h)
				}
			case by > 0:
				g.runs[s.task] = m.ProcessID
			case g.runs[s.task] == m.ProcessID:
				delete(g.runs, s.task)
			}
		}
	}
}

// free reports whether nobody stands in the way of a member that is to have a task in a role (STREAMS-2): nobody else in
// its process has the task in any role, and if it is to run it nobody elsewhere does.
func (g *Group) free(m *Member, s slot) bool {
	mine := 0
	for _, held := range []Assignment{m.Assigned, m.Revoking} {
		for _, r := range []Role{Standby, Warmup} {
			if held.has(r, s.task) {
				mine++
			}
		}
	}
	if g.copies[holder{s.task, m.ProcessID}] > mine {
		return false
	}
	process, runs := g.runs[s.task]
	if !runs || m.Assigned.has(Active, s.task) || m.Revoking.has(Active, s.task) {
		return true
	}
	return s.Role != Active && process != m.ProcessID
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
