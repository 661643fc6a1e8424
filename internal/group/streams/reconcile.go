package streams

import "maps"

// reconcile takes a member one step towards its target, that of an epoch, and returns it as it stands then. owned is
// what the member says it holds; nil when it does not say, it may hold all then. It stays in its epoch until it has
// given up what it must (STREAMS-4), and gets what others have given up (STREAMS-2).
func (c *Change) reconcile(m *Member, epoch int32, target, owned Assignment) *Member {
	from := m.Epoch
	switch {
	case m.reached(epoch), m.State == Unrevoked && (owned == nil || owned.meets(m.Revoking)):
		return m
	case m.State == Unrevoked: // what was asked for is given up, whatever is asked for next
		from++
	case m.State != Stable && m.State != Unreleased: // of a version to come; checkEpoch has seen to it that it holds nothing
		from = epoch
	}
	next := c.Group.step(m, from, epoch, target, owned)
	if next.sameAssignment(m) {
		return m
	}
	c.writeCurrent(next)
	return c.Group.Members[next.ID]
}

// step works out the next step of a member towards its target. from is the epoch that it stays in if it must first give
// something up.
func (g *Group) step(m *Member, from, epoch int32, target, owned Assignment) *Member {
	p := g.plan(m, epoch, target)
	next := *m
	next.PreviousEpoch, next.Revoking = m.Epoch, Assignment{}
	if len(p.revoking) > 0 && (owned == nil || owned.meets(p.revoking)) {
		maps.Copy(p.kept, p.promoted)
		next.State, next.Epoch, next.Assigned, next.Revoking = Unrevoked, from, p.kept, p.revoking
		return &next
	}
	next.State, next.Epoch, next.Assigned = Stable, epoch, p.kept
	maps.Copy(next.Assigned, p.gained)
	if p.waits {
		next.State = Unreleased
	}
	return &next
}

// plan sorts what a member has and shall have.
type plan struct {
	// kept is what it goes on with, revoking what it must give up, gained what it gets when it has.
	kept, revoking, gained Assignment
	// promoted are the copies of tasks in gained, which it keeps until it runs them.
	promoted Assignment
	// waits is set when it shall have something that others have not given up.
	waits bool
}

func (g *Group) plan(m *Member, epoch int32, target Assignment) plan {
	p := plan{Assignment{}, Assignment{}, Assignment{}, Assignment{}, false}
	for s, since := range m.Assigned {
		switch r, stays := target.roleOf(s.task); {
		case stays && r == s.Role:
			p.kept[s] = since
		case !stays || s.Role == Active: // who is to keep a copy of what it runs stops running it first
			p.revoking[s] = since
		case !g.free(m, slot{r, s.task}):
			p.kept[s] = since // the copy that it has, until it can have the task in its new role
		case r == Active:
			p.promoted[s] = since
		}
	}
	for s := range target {
		switch had, has := m.Assigned.roleOf(s.task); {
		case has && had == s.Role:
		case !g.free(m, s):
			p.waits = true
		case s.Role == Active:
			p.gained[s] = epoch
		case has: // another kind of copy, or one of what it ran: nobody else is asked
			p.kept[s] = 0
		default:
			p.gained[s] = 0
		}
	}
	return p
}
