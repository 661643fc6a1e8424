package consumer

import (
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/record"
)

// place names a partition of a topic.
type place struct {
	topic     record.UUID
	partition int32
}

// firstEpoch is the epoch of a group before anything was written about it.
const firstEpoch = 1

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
	// Epoch is raised whenever there is reason for a new assignment; AssignmentEpoch is that of Targets and never above.
	Epoch, AssignmentEpoch int32
	// AssignmentMs is when Targets were made; 0 when that does not matter.
	AssignmentMs int64
	// MetadataHash is over the topics that members subscribe to; 0 for none.
	MetadataHash int64
	Members      map[string]*Member
	// Targets are what members shall have, by member id.
	Targets map[string]assignor.Partitions
	// Regexes are the resolved ones.
	Regexes map[string]Regex
	// Dead is set when the group's record was removed.
	Dead bool
	// static maps instance ids to member ids, owners partitions to the member that holds them.
	static map[string]string
	owners map[place]string
	// outdated is set while a record of type 4 stands, which no version since 4.1 reads.
	outdated bool
}

// New returns a group of which nothing is written yet.
func New(id string) *Group {
	return &Group{
		ID: id, Epoch: firstEpoch, AssignmentEpoch: firstEpoch,
		Members: map[string]*Member{}, Targets: map[string]assignor.Partitions{}, Regexes: map[string]Regex{},
		static: map[string]string{}, owners: map[place]string{},
	}
}

func (g *Group) clone() *Group {
	c := *g
	c.Members, c.Targets, c.Regexes = maps.Clone(g.Members), maps.Clone(g.Targets), maps.Clone(g.Regexes)
	c.static, c.owners = maps.Clone(g.static), maps.Clone(g.owners)
	return &c
}

// State is the word that Kafka's tools print.
func (g *Group) State() string {
	switch {
	case len(g.Members) == 0:
		return "Empty"
	case g.Epoch > g.AssignmentEpoch:
		return "Assigning"
	}
	for _, m := range g.Members {
		if m.State != Stable || m.Epoch != g.AssignmentEpoch {
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

// put gives a member its place; nil takes the place away.
func (g *Group) put(id string, m *Member) {
	if old := g.Members[id]; old != nil {
		for _, held := range []Partitions{old.Assigned, old.Revoking} {
			for t, xs := range held {
				for x := range xs {
					if at := (place{t, x}); g.owners[at] == id {
						delete(g.owners, at)
					}
				}
			}
		}
		if old.InstanceID != nil && g.static[*old.InstanceID] == id {
			delete(g.static, *old.InstanceID)
		}
	}
	if m == nil {
		delete(g.Members, id)
		return
	}
	g.Members[id] = m
	for _, held := range []Partitions{m.Assigned, m.Revoking} {
		for t, xs := range held {
			for x := range xs {
				g.owners[place{t, x}] = id
			}
		}
	}
	if m.InstanceID != nil {
		g.static[*m.InstanceID] = id
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
