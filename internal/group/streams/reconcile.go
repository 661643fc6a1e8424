package streams

// reconcile takes a member one step towards its target (CurrentAssignmentBuilder of Kafka) and returns it as it
// stands then; target is that of epoch, owned what the member says it holds. It stays in its epoch until it has given
// up what it must (STREAMS-4), and gets what others have given up (STREAMS-2).
func (c *Change) reconcile(m *Member, epoch int32, target Assignment, owned Owned) *Member {
	g, next := c.Group, m
	switch {
	case m.reached(epoch):
		return m
	case m.State == Stable, m.State == Unreleased:
		next = g.next(m, m.Epoch, epoch, target, owned)
	case m.State == Unrevoked:
		if !holdsAny(owned, m.Revoking) {
			next = g.next(m, m.Epoch+1, epoch, target, owned)
		}
	default: // of a version to come; checkEpoch has seen to it that it holds nothing
		next = g.next(m, epoch, epoch, target, owned)
	}
	if next.sameAssignment(m) {
		return m
	}
	c.writeCurrent(next)
	return c.Group.Members[next.ID]
}

// step is what a member keeps, gives up and gets in one step.
type step struct{ kept, revoking, gained Assignment }

// next works out the next step of a member. epoch is its own if it must first give something up.
func (g *Group) next(m *Member, epoch, targetEpoch int32, target Assignment, owned Owned) *Member {
	s := step{NewAssignment(), NewAssignment(), NewAssignment()}
	waits := s.differ(m.Assigned.Active, target.Active, targetEpoch, activeOfAssignment, func(t task) bool { return g.runs(t) || g.copiedBeside(m, t) })
	waits = s.differ(m.Assigned.Standby, target.Standby, 0, standbyOf, func(t task) bool {
		return g.active[t] == m.ProcessID && !m.Assigned.Active.has(t.subtopology, t.n) || g.copies(g.standby, m, t) ||
			g.copies(g.warmup, m, t) && !m.Assigned.Warmup.has(t.subtopology, t.n)
	}) || waits
	waits = s.differ(m.Assigned.Warmup, target.Warmup, 0, warmupOf, func(t task) bool {
		return g.active[t] == m.ProcessID || g.copies(g.warmup, m, t) ||
			g.copies(g.standby, m, t) && !m.Assigned.Standby.has(t.subtopology, t.n)
	}) || waits
	s.demote(m)
	s.convert(m.Assigned.Standby, s.revoking.Standby, s.gained.Warmup, s.kept.Warmup)
	s.convert(m.Assigned.Warmup, s.revoking.Warmup, s.gained.Standby, s.kept.Standby)
	mustRevoke := s.promote(m, target, owned)

	out := *m
	out.PreviousEpoch, out.Revoking = m.Epoch, NewAssignment()
	switch {
	case mustRevoke:
		out.State, out.Epoch, out.Assigned, out.Revoking = Unrevoked, epoch, s.kept, s.revoking
		return &out
	case waits:
		out.State = Unreleased
	default:
		out.State = Stable
	}
	out.Epoch, out.Assigned = targetEpoch, s.kept.union(s.gained)
	return &out
}

// runs reports whether a task runs in any process; an empty process id is one, too.
func (g *Group) runs(t task) bool { _, ok := g.active[t]; return ok }

// copies reports whether a member of m's process holds a copy.
func (g *Group) copies(of map[holder]int, m *Member, t task) bool {
	return of[holder{t, m.ProcessID}] > 0
}

// copiedBeside reports whether another member of m's process holds a copy of a task.
func (g *Group) copiedBeside(m *Member, t task) bool {
	return g.copies(g.standby, m, t) && !m.Assigned.Standby.has(t.subtopology, t.n) ||
		g.copies(g.warmup, m, t) && !m.Assigned.Warmup.has(t.subtopology, t.n)
}

func activeOfAssignment(a Assignment) Tasks { return a.Active }
func standbyOf(a Assignment) Tasks          { return a.Standby }
func warmupOf(a Assignment) Tasks           { return a.Warmup }

// differ sorts the tasks of one role; unreleased says which still wait for somebody else, and it reports if any do.
func (s *step) differ(has, target Tasks, epoch int32, of func(Assignment) Tasks, unreleased func(task) bool) (waits bool) {
	has.each(func(sub string, n, since int32) {
		if target.has(sub, n) {
			of(s.kept).put(sub, n, since)
		} else {
			of(s.revoking).put(sub, n, since)
		}
	})
	target.each(func(sub string, n, _ int32) {
		switch {
		case has.has(sub, n):
		case unreleased(task{sub, n}):
			waits = true
		default:
			of(s.gained).put(sub, n, epoch)
		}
	})
	return waits
}

// demote has a member keep a copy of what it ran: it need not wait for itself.
func (s *step) demote(m *Member) {
	m.Assigned.Active.each(func(sub string, n, _ int32) {
		if s.gained.Standby.has(sub, n) {
			s.gained.Standby.remove(sub, n)
			s.kept.Standby.put(sub, n, 0)
		}
	})
}

// convert turns a copy of one kind into one of the other kind at once.
func (s *step) convert(has, revoking, gained, kept Tasks) {
	has.each(func(sub string, n, _ int32) {
		if gained.has(sub, n) {
			gained.remove(sub, n)
			kept.put(sub, n, 0)
			revoking.remove(sub, n)
		}
	})
}

// promote has a member that is to run what it has a copy of keep the copy until it may run it. It reports whether the
// member must give something up first.
func (s *step) promote(m *Member, target Assignment, owned Owned) bool {
	for _, x := range []struct{ has, revoking Tasks }{{m.Assigned.Standby, s.revoking.Standby}, {m.Assigned.Warmup, s.revoking.Warmup}} {
		x.has.each(func(sub string, n, _ int32) {
			if target.Active.has(sub, n) {
				x.revoking.remove(sub, n)
			}
		})
	}
	mustRevoke := !s.revoking.empty() && holdsAny(owned, s.revoking)
	for _, x := range []struct{ has, kept Tasks }{{m.Assigned.Standby, s.kept.Standby}, {m.Assigned.Warmup, s.kept.Warmup}} {
		x.has.each(func(sub string, n, _ int32) {
			if target.Active.has(sub, n) && (mustRevoke || !s.gained.Active.has(sub, n)) {
				x.kept.put(sub, n, 0)
			}
		})
	}
	return mustRevoke
}
