package consumer

import (
	"cmp"
	"slices"
)

// Converted is a member of a classic group as it becomes one of a consumer group, or the other way round.
type Converted struct {
	ID                   string
	InstanceID           *string
	ClientID, ClientHost string
	SessionMs, TimeoutMs int32
	Protocols            []Protocol
	// Assignment is in the embedded consumer protocol; empty for a member that has none.
	Assignment []byte
}

// FromClassic makes a consumer group of a classic one. All members are taken to stand where the last generation left
// them. The error is ErrEmbedded.
func FromClassic(id string, generation int32, members []Converted, v View) (*Change, error) {
	c := Begin(New(id))
	made := make([]*Member, 0, len(members))
	slices.SortFunc(members, func(a, b Converted) int { return cmp.Compare(a.ID, b.ID) })
	for _, x := range members {
		m, err := x.member(generation, v)
		if err != nil {
			return nil, err
		}
		made = append(made, m)
	}
	for _, m := range made {
		c.writeInfo(m)
	}
	c.writeGroup(generation, 0)
	for _, m := range made {
		c.writeTarget(m.ID, m.held())
	}
	c.writeTargetMetadata(generation, 0)
	for _, m := range made {
		c.writeCurrent(m)
	}
	return c, nil
}

func (x Converted) member(generation int32, v View) (*Member, error) {
	if len(x.Protocols) == 0 {
		return nil, ErrEmbedded
	}
	said, err := subscription(x.Protocols[0].Metadata)
	if err != nil {
		return nil, err
	}
	m := newMember(x.ID)
	if m.Assigned, err = assigned(x.Assignment, v, generation); err != nil {
		return nil, err
	}
	m.Info = Info{
		InstanceID: x.InstanceID, RackID: said.Rack, ClientID: x.ClientID, ClientHost: x.ClientHost, Topics: names(said.Topics),
		RebalanceTimeoutMs: x.TimeoutMs, Classic: &Classic{SessionTimeoutMs: x.SessionMs, Protocols: x.Protocols},
	}
	m.Epoch, m.PreviousEpoch, m.State = generation, generation, Stable
	return m, nil
}

// CanBecomeClassic reports whether only members of the classic protocol are left, and any, when one member goes; ""
// goes for nobody.
func (g *Group) CanBecomeClassic(without string) bool {
	n := len(g.Members)
	if g.Members[without] != nil {
		n--
	}
	return n > 0 && g.allClassicExcept(without)
}

// ToClassic are the members of the classic group that it becomes, except one that goes.
func (g *Group) ToClassic(without string, v View) []Converted {
	var out []Converted
	for _, m := range g.InOrder() {
		if m.ID == without {
			continue
		}
		out = append(out, Converted{
			ID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			SessionMs: m.Classic.SessionTimeoutMs, TimeoutMs: m.RebalanceTimeoutMs, Protocols: m.Classic.Protocols,
			Assignment: embed(v, m, g.Targets[m.ID]),
		})
	}
	return out
}
