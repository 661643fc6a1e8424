package group

import (
	"time"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/consumer"
	"github.com/samsalog/samsa/internal/metadata"
)

// consumerGroup is a group of the consumer protocol with what keeps its members' time.
type consumerGroup struct {
	*consumer.Group
	// refresh is set when topics that the members read may have changed.
	refresh bool
	members map[string]*clocks[*consumer.Member]
	// resolve looks up the members' regular expressions again.
	resolve *coord.Timer
}

// consumerOf is the consumer group of an id; nil if it belongs to another kind of group or to nobody.
func (m *machine) consumerOf(id string) *consumerGroup {
	if m.groups[id] != nil {
		return nil
	}
	return m.consumers[id]
}

// replayConsumer applies a record of a consumer group.
func (m *machine) replayConsumer(id string, r coord.Replayed) error {
	g := m.consumers[id]
	if g == nil {
		if r.Value == nil {
			return nil
		}
		g = &consumerGroup{Group: consumer.New(id), refresh: true, members: map[string]*clocks[*consumer.Member]{}}
		m.consumers[id] = g
		m.env.counters.consumerGroups.Add(1)
		m.giveWay(id, consumerKind)
	}
	before := g.Epoch
	if err := g.Apply(r.Key, r.Value); err != nil {
		return err
	}
	if g.Epoch > before {
		m.env.counters.consumerRebalances.Add(1)
	}
	if g.Dead {
		m.dropConsumer(g)
		return nil
	}
	stopGone(g.members, g.Members)
	return nil
}

// dropConsumer forgets a consumer group; nil is none.
func (m *machine) dropConsumer(g *consumerGroup) {
	if g == nil || m.consumers[g.ID] != g {
		return
	}
	delete(m.consumers, g.ID)
	m.env.counters.consumerGroups.Add(-1)
	g.resolve.Stop()
	for _, t := range g.members {
		t.stop()
	}
}

// startConsumers starts the clocks of the groups that were read.
func (m *machine) startConsumers() {
	for _, g := range m.consumers {
		for _, x := range g.Members {
			m.watchMember(g, x)
		}
		if g.HasExpressions() {
			m.resolveIn(g, 0)
		}
	}
}

// now is the situation in which a request of a caller meets a group.
func (m *machine) now(id string, c Caller) consumer.Now {
	set := m.env.settings()
	return consumer.Now{
		View: m.view(), Ms: m.nowMs(), Client: c.ClientID, Host: c.ClientHost,
		Rules: consumer.Rules{
			MaxSize: set.ConsumerMaxSize, Assignors: set.ConsumerAssignors,
			AssignmentInterval: m.env.consumerConfig(id).AssignmentInterval,
		},
	}
}

// view is the present metadata.
func (m *machine) view() consumer.View {
	v := consumer.View{Topics: m.env.topics()}
	i := m.env.image()
	if i == nil {
		return v
	}
	v.Version = int64(i.Offset)
	v.Rack = func(broker int32) *string {
		if b := i.Brokers[broker]; b != nil {
			return b.Rack
		}
		return nil
	}
	return v
}

// watchMember starts the session of a member again, and its time to give partitions up unless it runs for the same.
func (m *machine) watchMember(g *consumerGroup, x *consumer.Member) {
	t := clocksOf(g.members, x.ID)
	timeout := m.env.consumerConfig(g.ID).SessionTimeout
	if x.IsClassic() {
		timeout = millis(x.Classic.SessionTimeoutMs)
	}
	m.removeAfter(g, x.ID, &t.session, timeout, "it was not heard of in time")
	switch {
	case x.IsClassic() || x.State != consumer.Unrevoked:
		t.rebalance.Stop()
	case !t.rebalance.Running() || !x.RevokesAs(t.asked):
		t.asked = x
		m.removeAfter(g, x.ID, &t.rebalance, millis(x.RebalanceTimeoutMs), "it did not give up its partitions in time")
	}
	if !x.IsClassic() {
		t.join.Stop()
		t.sync.Stop()
	}
}

// removeAfter winds a timer that removes a member.
func (m *machine) removeAfter(g *consumerGroup, member string, at **coord.Timer, d time.Duration, reason string) {
	m.wind(at, d, func() coord.Result {
		x := g.Members[member]
		if m.consumerOf(g.ID) != g || x == nil {
			return coord.None()
		}
		m.env.logger.Info("a group member is removed", "group", g.ID, "member", member, "client", x.ClientHost, "reason", reason)
		return m.removeConsumers(g, nil, x)
	})
}

// removeConsumers removes members of a group. If only members of the classic protocol are left, it becomes a classic
// group. done hears of the outcome; it may be nil.
func (m *machine) removeConsumers(g *consumerGroup, done func(error), members ...*consumer.Member) coord.Result {
	if done == nil {
		done = func(err error) {
			if err != nil {
				m.env.logger.Warn("cannot record that group members have gone, they are watched again", "group", g.ID, "err", err)
				for _, x := range members {
					if m.consumers[g.ID] == g && g.Members[x.ID] != nil {
						m.watchMember(g, x)
					}
				}
			}
		}
	}
	if len(members) == 1 && m.mayDowngrade(g, members[0].ID) {
		return m.toClassic(g, members[0].ID, done)
	}
	c := consumer.Begin(g.Group)
	c.Remove(m.view(), members...)
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result { done(err); return coord.None() }}
}

// resolveDelay is how long changes of topics are collected before regular expressions are looked up again: each
// look goes over all topics.
const resolveDelay = time.Second

// resolveIn has the group's regular expressions looked up, after what was asked now is answered.
func (m *machine) resolveIn(g *consumerGroup, d time.Duration) {
	switch {
	case g.resolve == nil:
		g.resolve = m.timers.AfterFunc(d, func() coord.Result { return m.resolveExpressions(g) })
	case !g.resolve.Running():
		g.resolve.Reset(d)
	}
}

func (m *machine) resolveExpressions(g *consumerGroup) coord.Result {
	if m.consumerOf(g.ID) != g {
		return coord.None()
	}
	c := consumer.Begin(g.Group)
	c.Resolve(m.view(), m.nowMs())
	return coord.Result{Records: c.Records, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot record what topics a group reads, it is tried again", "group", g.ID, "err", err)
			m.resolveIn(g, resolveDelay)
		}
		return coord.None()
	}}
}

// topicsChanged tells the groups that read them of new, grown and deleted topics.
func (s *Service) topicsChanged(d *metadata.Delta) {
	if s.env.counters.consumerGroups.Load() == 0 && s.env.counters.streamsGroups.Load() == 0 && s.env.counters.shareGroups.Load() == 0 {
		return // groups that are read later look for themselves
	}
	names := map[string]struct{}{}
	for _, t := range d.CreatedTopics {
		names[t.Name] = struct{}{}
	}
	for _, t := range d.DeletedTopics {
		names[t.Name] = struct{}{}
	}
	listChanged := len(names) > 0
	for _, p := range d.ChangedPartitions {
		names[p.Topic] = struct{}{}
	}
	if len(names) == 0 {
		return
	}
	for _, p := range s.runtime.Partitions() {
		// A shard that is gone has nothing to look at.
		_ = s.runtime.Submit(p, coord.Op[*machine]{Patient: true, Shares: true, Run: func(m *machine) coord.Result {
			m.noteTopics(names, listChanged)
			return coord.None()
		}})
	}
}

func (m *machine) noteTopics(names map[string]struct{}, listChanged bool) {
	for _, g := range m.consumers {
		g.refresh = g.refresh || g.ReadsAny(names)
		if listChanged && g.HasExpressions() {
			m.resolveIn(g, resolveDelay)
		}
	}
	for _, g := range m.streams {
		g.refresh = g.refresh || g.NeedsAny(names)
	}
	for _, g := range m.shares {
		g.refresh = g.refresh || g.ReadsAny(names)
	}
}
