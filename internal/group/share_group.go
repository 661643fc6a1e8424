package group

import (
	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/share"
	"github.com/samsalog/samsa/record"
)

// shareGroup is a share group with what keeps its members' time.
type shareGroup struct {
	*share.Group
	// refresh is set when topics that the members read may have changed.
	refresh bool
	// busy are the partitions whose state the share coordinator is asked to begin or to delete right now: it is asked for
	// one of these at a time. idle is closed when there are none any more; nil while there are none.
	busy share.Topics
	idle chan struct{}
	// sessions remove members that were silent, by member id.
	sessions map[string]*coord.Timer
}

// occupy notes that the share coordinator is asked for something.
func (g *shareGroup) occupy(t share.Topics) {
	if g.busy = g.busy.Plus(t); len(g.busy) > 0 && g.idle == nil {
		g.idle = make(chan struct{})
	}
}

// release notes that it has answered.
func (g *shareGroup) release(t share.Topics) {
	if g.busy = g.busy.Minus(t); len(g.busy) == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// shareOf is the share group of an id; nil if it belongs to another kind of group or to nobody.
func (m *machine) shareOf(id string) *shareGroup {
	if m.groups[id] != nil {
		return nil
	}
	return m.shares[id]
}

// replayShare applies a record of a share group.
func (m *machine) replayShare(id string, r coord.Replayed) error {
	g := m.shares[id]
	if g == nil {
		if r.Value == nil {
			return nil
		}
		g = &shareGroup{Group: share.New(id), refresh: true, busy: share.Topics{}, sessions: map[string]*coord.Timer{}}
		m.shares[id] = g
		m.env.counters.shareGroups.Add(1)
		m.giveWay(id, shareKind)
	}
	before, empty := g.Epoch, len(g.Members) == 0
	if err := g.Apply(r.Key, r.Value); err != nil {
		return err
	}
	if g.Epoch > before {
		m.env.counters.shareRebalances.Add(1)
	}
	m.countEmptyShare(empty, len(g.Members) == 0)
	if g.Dead {
		m.dropShare(g)
		return nil
	}
	for member, t := range g.sessions {
		if g.Members[member] == nil {
			t.Stop()
			delete(g.sessions, member)
		}
	}
	return nil
}

// countEmptyShare notes that a group has got its first member, or lost its last.
func (m *machine) countEmptyShare(before, now bool) {
	switch {
	case before && !now:
		m.env.counters.stableShareGroups.Add(1)
	case !before && now:
		m.env.counters.stableShareGroups.Add(-1)
	}
}

// dropShare forgets a share group; nil is none.
func (m *machine) dropShare(g *shareGroup) {
	if g == nil || m.shares[g.ID] != g {
		return
	}
	delete(m.shares, g.ID)
	m.env.counters.shareGroups.Add(-1)
	m.countEmptyShare(len(g.Members) == 0, true)
	g.release(g.busy)
	for _, t := range g.sessions {
		t.Stop()
	}
}

// startShares starts the clocks of the groups that were read.
func (m *machine) startShares() {
	for _, g := range m.shares {
		for id := range g.Members {
			m.watchShare(g, id)
		}
	}
}

// shareNow is the situation in which a request of a caller meets a group; g is nil if there is none yet.
func (m *machine) shareNow(id string, g *shareGroup, c Caller) share.Now {
	now := share.Now{
		View: m.view(), Ms: m.nowMs(), Client: c.ClientID, Host: c.ClientHost, Refresh: true,
		Rules: share.Rules{MaxSize: m.env.settings().ShareMaxSize, AssignmentInterval: m.env.shareConfig(id).AssignmentInterval},
	}
	if g != nil {
		now.Refresh, now.Busy = g.refresh, g.busy
	}
	return now
}

// watchShare starts the session of a member, again if it runs.
func (m *machine) watchShare(g *shareGroup, member string) {
	timeout := m.env.shareConfig(g.ID).SessionTimeout
	if t := g.sessions[member]; t != nil {
		t.Reset(timeout)
		return
	}
	g.sessions[member] = m.timers.AfterFunc(timeout, func() coord.Result {
		x := g.Members[member]
		if m.shareOf(g.ID) != g || x == nil {
			return coord.None()
		}
		m.env.logger.Info("a group member is removed", "group", g.ID, "member", member, "client", x.ClientHost, "reason", "it was not heard of in time")
		return m.removeShare(g, x, func(err error) {
			if err != nil && m.shares[g.ID] == g && g.Members[member] != nil {
				m.env.logger.Warn("cannot record that a group member has gone, it is watched again", "group", g.ID, "err", err)
				m.watchShare(g, member)
			}
		})
	})
}

// removeShare removes a member of a group. done hears of the outcome.
func (m *machine) removeShare(g *shareGroup, x *share.Member, done func(error)) coord.Result {
	c := share.Begin(g.Group)
	c.Remove(m.view(), x)
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result { done(err); return coord.None() }}
}

// forgetShares forgets the share partitions of topics that were deleted. The share coordinator deletes their state.
func (m *machine) forgetShares(topics map[record.UUID]struct{}) coord.Result {
	var records []coord.Record
	for _, g := range m.shares {
		c := share.Begin(g.Group)
		c.TopicsGone(topics)
		records = append(records, c.Records...)
	}
	return coord.Result{Records: records, Divisible: true, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot record that share groups have lost topics", "err", err)
		}
		return coord.None()
	}}
}
