package consumer

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/record"
)

// place names a partition of a topic.
type place struct {
	topic     record.UUID
	partition int32
}

// Regex is what a regular expression matched.
type Regex struct {
	// Topics are the names, in order.
	Topics []string
	// Version is the offset of the metadata that was looked at.
	Version     int64
	TimestampMs int64
}

// Group is one consumer group.
type Group struct {
	ID string
	modern.Progress
	modern.Roster[*Member]
	// Targets are what members shall have, by member id.
	Targets map[string]assignor.Partitions
	// Regexes are the resolved ones.
	Regexes map[string]Regex
	// owners maps partitions to the member that holds them.
	owners map[place]string
	// outdated is set while a record of type 4 stands, which no version since 4.1 reads.
	outdated bool
}

// New returns a group of which nothing is written yet.
func New(id string) *Group {
	return &Group{
		ID: id, Progress: modern.Begun(), Roster: modern.NewRoster[*Member](),
		Targets: map[string]assignor.Partitions{}, Regexes: map[string]Regex{}, owners: map[place]string{},
	}
}

// Clone is a copy that can be changed without the group.
func (g *Group) Clone() *Group {
	c := *g
	c.Roster, c.Targets, c.Regexes, c.owners = g.Copy(), maps.Clone(g.Targets), maps.Clone(g.Regexes), maps.Clone(g.owners)
	return &c
}

// State is the word that Kafka's tools print.
func (g *Group) State() string {
	switch {
	case len(g.Members) == 0:
		return "Empty"
	case g.Wants():
		return "Assigning"
	}
	for _, m := range g.Members {
		if m.State != Stable || m.Epoch != g.AssignmentEpoch {
			return "Reconciling"
		}
	}
	return "Stable"
}

// put gives a member its place, with what it holds.
func (g *Group) put(m *Member) {
	g.release(g.Admit(m))
	m.eachHeld(func(at place) { g.owners[at] = m.ID })
}

// drop takes the place of a member away.
func (g *Group) drop(id string) { g.release(g.Dismiss(id)) }

// release frees what somebody held; nil is nobody.
func (g *Group) release(m *Member) {
	if m == nil {
		return
	}
	m.eachHeld(func(at place) {
		if g.owners[at] == m.ID {
			delete(g.owners, at)
		}
	})
}

// eachHeld calls f for everything that a member holds, also what it is to give up.
func (m *Member) eachHeld(f func(place)) {
	for _, held := range []Partitions{m.Assigned, m.Revoking} {
		for t, xs := range held {
			for x := range xs {
				f(place{t, x})
			}
		}
	}
}

// topicsOf are the names that a member reads: those it names, and what its expression is known to match.
func (g *Group) topicsOf(m *Member) []string {
	matched := g.Regexes[m.Regex].Topics
	if m.Regex == "" || len(matched) == 0 {
		return m.Topics
	}
	all := append(slices.Clone(m.Topics), matched...)
	slices.Sort(all)
	return slices.Compact(all)
}

// subscribed are the names that any member reads.
func (g *Group) subscribed() map[string]struct{} {
	out := map[string]struct{}{}
	for _, m := range g.Members {
		for _, t := range g.topicsOf(m) {
			out[t] = struct{}{}
		}
	}
	return out
}

// IsSubscribed reports whether a member reads a topic.
func (g *Group) IsSubscribed(topic string) bool {
	for _, m := range g.Members {
		if _, found := slices.BinarySearch(g.topicsOf(m), topic); found {
			return true
		}
	}
	return false
}

// ReadsAny reports whether a member reads one of the topics.
func (g *Group) ReadsAny(names map[string]struct{}) bool {
	for _, m := range g.Members {
		for _, t := range g.topicsOf(m) {
			if _, ok := names[t]; ok {
				return true
			}
		}
	}
	return false
}

// expressions are the regular expressions of the members.
func (g *Group) expressions() map[string]struct{} {
	out := map[string]struct{}{}
	for _, m := range g.Members {
		if m.Regex != "" {
			out[m.Regex] = struct{}{}
		}
	}
	return out
}

// HasExpressions reports whether a member subscribes by a regular expression.
func (g *Group) HasExpressions() bool { return len(g.expressions()) > 0 }

// Unresolved reports whether a regular expression of a member was not looked up yet.
func (g *Group) Unresolved() bool {
	for x := range g.expressions() {
		if _, ok := g.Regexes[x]; !ok {
			return true
		}
	}
	return false
}

// classicMembers counts the members of the classic protocol, and for each protocol name those that support it.
func (g *Group) classicMembers() (n int, supported map[string]int) {
	supported = map[string]int{}
	for _, m := range g.Members {
		if m.Classic == nil {
			continue
		}
		n++
		for i, p := range m.Classic.Protocols {
			if !slices.ContainsFunc(m.Classic.Protocols[:i], func(q Protocol) bool { return q.Name == p.Name }) {
				supported[p.Name]++
			}
		}
	}
	return n, supported
}

// allClassicExcept reports whether every member but one speaks the classic protocol; "" excepts nobody.
func (g *Group) allClassicExcept(id string) bool {
	for _, m := range g.Members {
		if m.ID != id && m.Classic == nil {
			return false
		}
	}
	return true
}
