package group

import (
	"time"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/streams"
)

// streamsGroup is a group of the streams protocol with what keeps its members' time.
type streamsGroup struct {
	*streams.Group
	live *streams.Live
	// refresh is set when topics that the topology needs may have changed.
	refresh bool
	members map[string]*clocks[*streams.Member]
}

// streamsOf is the streams group of an id; nil if it belongs to another kind of group or to nobody.
func (m *machine) streamsOf(id string) *streamsGroup {
	if m.groups[id] != nil {
		return nil
	}
	return m.streams[id]
}

// replayStreams applies a record of a streams group.
func (m *machine) replayStreams(id string, r coord.Replayed) error {
	g := m.streams[id]
	if g == nil {
		if r.Value == nil {
			return nil
		}
		g = &streamsGroup{Group: streams.New(id), live: streams.NewLive(), refresh: true, members: map[string]*clocks[*streams.Member]{}}
		m.streams[id] = g
		m.env.counters.streamsGroups.Add(1)
		m.giveWay(id, streamsKind)
	}
	before := g.Epoch
	if err := g.Apply(r.Key, r.Value); err != nil {
		return err
	}
	if g.Epoch > before {
		m.env.counters.streamsRebalances.Add(1)
	}
	if g.Dead {
		m.dropStreams(g)
		return nil
	}
	g.live.Follow(g.Group)
	stopGone(g.members, g.Members)
	return nil
}

// dropStreams forgets a streams group; nil is none.
func (m *machine) dropStreams(g *streamsGroup) {
	if g == nil || m.streams[g.ID] != g {
		return
	}
	delete(m.streams, g.ID)
	m.env.counters.streamsGroups.Add(-1)
	m.initial[g.ID].Stop()
	delete(m.initial, g.ID)
	for _, t := range g.members {
		t.stop()
	}
}

// startStreams starts the clocks of the groups that were read.
func (m *machine) startStreams() {
	for _, g := range m.streams {
		for _, x := range g.Members {
			m.watchTasks(g, x)
		}
	}
}

// streamsNow is the situation in which a request of a caller meets a group.
func (m *machine) streamsNow(id string, c Caller) streams.Now {
	own := m.env.streamsConfig(id)
	return streams.Now{
		View: m.view(), Ms: m.nowMs(), Client: c.ClientID, Host: c.ClientHost, Delayed: m.initial[id].Running(),
		Rules: streams.Rules{
			MaxSize: m.env.settings().StreamsMaxSize, AssignmentInterval: own.AssignmentInterval,
			InitialDelay: own.InitialDelay, Standbys: own.Standbys, RackTags: own.RackTags,
		},
	}
}

// delayFirst has a group that gets its first member wait for more, as of now: members that come before the first one is
// written wait with it. If the group is not written, nobody finds the timer that rings.
func (m *machine) delayFirst(id string, d time.Duration) {
	if m.initial[id] == nil {
		m.initial[id] = m.timers.AfterFunc(d, func() coord.Result { return m.assignDelayed(id) })
	}
}

// assignDelayed makes the first assignment of a group that has waited.
func (m *machine) assignDelayed(id string) coord.Result {
	delete(m.initial, id)
	g := m.streamsOf(id)
	if g == nil {
		return coord.None()
	}
	c := streams.Begin(g.Group)
	c.AssignDelayed(g.live, m.streamsNow(id, Caller{}).Rules, m.nowMs())
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot record the first assignment of a group, the next heartbeat makes it", "group", id, "err", err)
		}
		return coord.None()
	}}
}

// watchTasks starts the session of a member again, and its time to give tasks up unless it runs for the same.
func (m *machine) watchTasks(g *streamsGroup, x *streams.Member) {
	t := clocksOf(g.members, x.ID)
	m.endAfter(g, x.ID, &t.session, m.env.streamsConfig(g.ID).SessionTimeout, "it was not heard of in time")
	switch {
	case x.State != streams.Unrevoked:
		t.rebalance.Stop()
	case !t.rebalance.Running() || !x.RevokesAs(t.asked):
		t.asked = x
		m.endAfter(g, x.ID, &t.rebalance, millis(x.RebalanceTimeoutMs), "it did not give up its tasks in time")
	}
}

// endAfter winds a timer that removes a member.
func (m *machine) endAfter(g *streamsGroup, member string, at **coord.Timer, d time.Duration, reason string) {
	m.wind(at, d, func() coord.Result {
		x := g.Members[member]
		if m.streamsOf(g.ID) != g || x == nil {
			return coord.None()
		}
		m.env.logger.Info("a group member is removed", "group", g.ID, "member", member, "client", x.ClientHost, "reason", reason)
		return m.removeStreams(g, x, nil)
	})
}

// removeStreams removes a member of a group. done hears of the outcome; it may be nil.
func (m *machine) removeStreams(g *streamsGroup, x *streams.Member, done func(error)) coord.Result {
	if done == nil {
		done = func(err error) {
			if err != nil && m.streams[g.ID] == g && g.Members[x.ID] != nil {
				m.env.logger.Warn("cannot record that a group member has gone, it is watched again", "group", g.ID, "err", err)
				m.watchTasks(g, g.Members[x.ID])
			}
		}
	}
	c := streams.Begin(g.Group)
	c.Remove(x)
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result { done(err); return coord.None() }}
}
