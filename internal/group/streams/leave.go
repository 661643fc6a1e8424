package streams

import "github.com/twmb/franz-go/pkg/kerr"

// Leaving finds the member that a request to leave names; instance is nil for a dynamic one.
func (g *Group) Leaving(id string, instance *string) (*Member, *kerr.Error) {
	m := g.Members[id]
	if instance != nil {
		m = g.StaticMember(*instance)
	}
	switch {
	case m == nil:
		return nil, kerr.UnknownMemberID
	case m.ID != id:
		return nil, kerr.FencedInstanceID
	}
	return m, nil
}

// Away notes that a static member leaves for a while. It keeps its tasks, except those that it was to give up. Its session
// goes on.
func (c *Change) Away(m *Member) {
	next := *m
	next.Epoch, next.Revoking = LeaveStatic, NewAssignment()
	next.Assigned.Active = m.Assigned.Active.since(0)
	c.writeCurrent(&next)
}

// Remove takes a member out of the group. A group without members has no assignment to wait for.
func (c *Change) Remove(m *Member) {
	c.removeMember(m.ID)
	c.writeGroup(c.Group.MetadataHash, c.Group.ValidatedTopology, c.Group.Settings)
	if len(c.Group.Members) == 0 {
		c.writeTargetMetadata(c.Group.Epoch, 0)
	}
}
