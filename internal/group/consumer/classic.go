package consumer

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Joining is a JoinGroup request to a consumer group: of a member that does not speak the new protocol yet, while a
// group changes over (KIP-848, online migration).
type Joining struct {
	// ID is the member's id, made for it if Unknown.
	ID      string
	Unknown bool
	// InstanceID is that of a static member.
	InstanceID           *string
	SessionMs, TimeoutMs int32
	Protocols            []Protocol
}

// CanJoin checks a JoinGroup request against the group, before a member id is given out.
func (g *Group) CanJoin(r Rules, protocolType string, j Joining) *kerr.Error {
	switch {
	case Begin(g).full(r, j.ID):
		return kerr.GroupMaxSizeReached
	case protocolType != "consumer" || len(j.Protocols) == 0:
		return kerr.InconsistentGroupProtocol
	}
	if n, supported := g.classicMembers(); n > 0 && !slices.ContainsFunc(j.Protocols, func(p Protocol) bool { return supported[p.Name] == n }) {
		return kerr.InconsistentGroupProtocol
	}
	return nil
}

// JoinClassic takes in, or further, a member of the classic protocol. Its generation is its member epoch. replaced is
// the id of the static member whose place it took, "" if none.
func (c *Change) JoinClassic(now Now, j Joining) (m *Member, replaced string, e *kerr.Error) {
	said, err := subscription(j.Protocols[0].Metadata)
	if err != nil {
		return nil, "", kerr.InconsistentGroupProtocol
	}
	if m, replaced, e = c.classicMemberOf(j); e != nil {
		return nil, "", e
	}
	info := m.Info
	info.ClientID, info.ClientHost, info.RebalanceTimeoutMs, info.Topics = now.Client, now.Host, j.TimeoutMs, names(said.Topics)
	if j.InstanceID != nil {
		info.InstanceID = j.InstanceID
	}
	if said.Rack != nil {
		info.RackID = said.Rack
	}
	info.Classic = &Classic{SessionTimeoutMs: j.SessionMs, Protocols: j.Protocols}
	return c.advance(now, m, info, ownedBy(said, now.View)), replaced, nil
}

// classicMemberOf finds the member that a JoinGroup request comes from, or makes it.
func (c *Change) classicMemberOf(j Joining) (m *Member, replaced string, e *kerr.Error) {
	if j.InstanceID == nil {
		if m = c.Group.Members[j.ID]; m == nil {
			m = newMember(j.ID)
		}
		return m, "", nil
	}
	m = c.Group.Static(*j.InstanceID)
	switch {
	case m == nil && j.Unknown:
		return newMember(j.ID), "", nil
	case m == nil:
		return nil, "", kerr.UnknownMemberID
	case m.ID == j.ID:
		return m, "", nil
	case !j.Unknown:
		return nil, "", kerr.FencedInstanceID
	}
	return c.replace(m, j.ID), m.ID, nil
}

// ClassicMember finds the member that a request of the classic protocol comes from.
func (g *Group) ClassicMember(id string, instance *string, generation int32) (*Member, *kerr.Error) {
	m, e := g.Named(id, instance)
	switch {
	case e != nil:
		return nil, e
	case !m.IsClassic():
		return nil, kerr.UnknownMemberID
	case m.Epoch != generation:
		return nil, kerr.IllegalGeneration
	}
	return m, nil
}

// MustRejoin reports whether a classic member is to send JoinGroup: there is a newer assignment, or one can be made;
// it must show what it has given up; or what it waits for has become free.
func (c *Change) MustRejoin(now Now, m *Member) bool {
	return m.Epoch < c.Group.AssignmentEpoch || c.mayAssign(now.Rules, now.Ms) ||
		m.State == Unrevoked || m.State == Unreleased && !c.Group.waits(m)
}

// MaySync reports whether a classic member's assignment is worth telling.
func (g *Group) MaySync(m *Member) bool {
	return m.Epoch >= g.AssignmentEpoch || m.State == Unrevoked
}
