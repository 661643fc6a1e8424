package streams

import "github.com/samsalog/samsa/internal/group/modern"

// Away notes that a static member leaves for a while. It keeps its tasks, except those that it was to give up. Its session
// goes on.
func (c *Change) Away(m *Member) {
	next := *m
	next.Epoch, next.Revoking = modern.LeaveStatic, Assignment{}
	next.Assigned = m.Assigned.undated()
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
