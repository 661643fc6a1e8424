package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/consumer"
)

// mayUpgrade reports whether a classic group with members may become a consumer group.
func (m *machine) mayUpgrade(g *classicGroup) bool {
	set := m.env.settings()
	return set.Upgrade && g.usesConsumerProtocol() && len(g.members) <= set.ConsumerMaxSize
}

// fromClassic makes a consumer group of a classic one whose members go on as they are. Those who wait are sent away by
// sendAway, once it is clear that the group changes.
func (m *machine) fromClassic(g *classicGroup) ([]coord.Record, *consumer.Change, *kerr.Error) {
	members := make([]consumer.Converted, 0, len(g.members))
	for _, x := range g.members {
		c := consumer.Converted{
			ID: x.id, InstanceID: x.instance, ClientID: x.clientID, ClientHost: x.clientHost,
			SessionMs: x.sessionTimeoutMs, TimeoutMs: x.rebalanceTimeoutMs, Assignment: x.assignment,
		}
		for _, p := range x.protocols {
			c.Protocols = append(c.Protocols, consumer.Protocol{Name: p.name, Metadata: p.metadata})
		}
		members = append(members, c)
	}
	change, err := consumer.FromClassic(g.id, g.generation, members, m.view())
	if err != nil {
		m.env.logger.Warn("a classic group cannot become a consumer group", "group", g.id, "err", err)
		return nil, nil, kerr.GroupIDNotFound
	}
	m.env.logger.Info("a classic group becomes a consumer group", "group", g.id, "generation", g.generation, "members", len(g.members))
	return []coord.Record{groupTombstone(g.id)}, change, nil
}

// sendAway makes the members of a classic group that gives way to a consumer group join again; nil is none.
func (m *machine) sendAway(g *classicGroup) {
	if g == nil {
		return
	}
	for _, x := range g.members {
		g.answerJoin(x, joinFailed(x.id, kerr.RebalanceInProgress.Code))
		g.answerSync(x, syncFailed(kerr.RebalanceInProgress.Code))
	}
}

// mayDowngrade reports whether a consumer group may become a classic one when a member goes, or as it is ("").
func (m *machine) mayDowngrade(g *consumerGroup, without string) bool {
	set := m.env.settings()
	return set.Downgrade && g.CanBecomeClassic(without) && len(g.Members) <= set.MaxSize
}

// toClassic makes a classic group of a consumer group, without one member that goes, and has the others join again.
func (m *machine) toClassic(g *consumerGroup, without string, done func(error)) coord.Result {
	next := newClassicGroup(g.ID, m.nowMs())
	next.generation, next.state = g.Epoch, Stable
	for _, x := range g.ToClassic(without, m.view()) {
		c := &member{
			id: x.ID, instance: x.InstanceID, clientID: x.ClientID, clientHost: x.ClientHost, rebalanceTimeoutMs: x.TimeoutMs,
			sessionTimeoutMs: x.SessionMs, protocolType: consumerProtocolType, assignment: x.Assignment,
		}
		for _, p := range x.Protocols {
			c.protocols = append(c.protocols, protocol{p.Name, p.Metadata})
		}
		next.add(c, nil)
	}
	chosen := next.choose()
	next.protocol = &chosen
	records := append(g.Tombstones(), groupRecord(next, assignments(next)))
	return coord.Result{Records: records, Done: func(err error) coord.Result {
		done(err)
		classic := m.groups[g.ID]
		if err != nil || classic == nil || classic.state != Stable {
			return coord.None()
		}
		m.env.logger.Info("a consumer group becomes a classic group", "group", g.ID, "generation", classic.generation, "members", len(classic.members))
		for _, x := range classic.members {
			m.resetSession(classic, x, x.sessionTimeoutMs)
		}
		return m.prepareRebalance(classic, "the last member of the consumer protocol has left")
	}}
}
