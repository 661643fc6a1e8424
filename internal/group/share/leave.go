package share

import "github.com/samsalog/samsa/internal/group/view"

// Remove takes a member out of the group. A group without members has no assignment to wait for.
func (c *Change) Remove(v view.View, m *Member) {
	c.removeCurrent(m.ID)
	c.removeTarget(m.ID)
	c.removeInfo(m.ID)
	c.writeGroup(c.Group.Epoch+1, view.Hash(v, c.Group.subscribed()))
	if len(c.Group.Members) == 0 {
		c.writeTargetMetadata(c.Group.Epoch, 0)
	}
}
