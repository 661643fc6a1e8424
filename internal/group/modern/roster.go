package modern

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Member is what a Roster asks of a member; it is a pointer, nil for nobody.
type Member interface {
	comparable
	// Key is the member's id.
	Key() string
	// Instance is the instance id of a static member, nil for a dynamic one.
	Instance() *string
}

// Roster is who the members of a group are.
type Roster[M Member] struct {
	Members map[string]M
	// static maps instance ids to member ids (MODERN-2).
	static map[string]string
}

// NewRoster returns one without members.
func NewRoster[M Member]() Roster[M] {
	return Roster[M]{Members: map[string]M{}, static: map[string]string{}}
}

// Copy is a copy of its own.
func (r Roster[M]) Copy() Roster[M] {
	return Roster[M]{Members: maps.Clone(r.Members), static: maps.Clone(r.static)}
}

// InOrder are the members by id.
func (r Roster[M]) InOrder() []M {
	out := make([]M, 0, len(r.Members))
	for _, id := range slices.Sorted(maps.Keys(r.Members)) {
		out = append(out, r.Members[id])
	}
	return out
}

// Static is the member of an instance id; nil if there is none.
func (r Roster[M]) Static(instance string) M { return r.Members[r.static[instance]] }

// Admit gives a member its place, and returns who had it before; nil if nobody did.
func (r Roster[M]) Admit(m M) (before M) {
	before = r.Dismiss(m.Key())
	r.Members[m.Key()] = m
	if i := m.Instance(); i != nil {
		r.static[*i] = m.Key()
	}
	return before
}

// Dismiss takes the place of a member id away, and returns who had it; nil if nobody did.
func (r Roster[M]) Dismiss(id string) (before M) {
	var nobody M
	if before = r.Members[id]; before == nobody {
		return nobody
	}
	if i := before.Instance(); i != nil && r.static[*i] == id {
		delete(r.static, *i)
	}
	delete(r.Members, id)
	return before
}

// Named finds the member that a request names by its id, a static one by its instance id besides.
func (r Roster[M]) Named(id string, instance *string) (M, *kerr.Error) {
	var nobody M
	m := r.Members[id]
	if instance != nil {
		m = r.Static(*instance)
	}
	switch {
	case m == nobody:
		return nobody, kerr.UnknownMemberID
	case m.Key() != id:
		return nobody, kerr.FencedInstanceID
	}
	return m, nil
}
