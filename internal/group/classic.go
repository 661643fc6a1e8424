package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
)

// State is the state of a classic group.
type State int8

// The states of a classic group, in Kafka's words. A group goes round from Empty or Stable through
// PreparingRebalance (members join) and CompletingRebalance (the leader assigns) to Stable.
const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	// Dead is what an unknown group is described as; groups that are given up pass through it.
	Dead
	numStates
)

// String is the name that Kafka's tools print.
func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[s]
}

// consumerProtocolType is the protocol type of consumers, whose subscriptions the coordinator can read.
const consumerProtocolType = "consumer"

// classicGroup is a group whose members choose their assignment themselves (ClassicGroup.java).
type classicGroup struct {
	id       string
	state    State
	previous State
	// stateSinceMs is when the state was entered; -1 if a group record of old did not say.
	stateSinceMs int64
	generation   int32
	// protocolType is that of all members; "" for a group without (simple groups, new ones).
	protocolType string
	// protocol is what the present generation has chosen; nil before the first and while Empty.
	protocol *string
	// leader is the id of the member that assigns; "" when there are no members.
	leader string
	// members are in the order in which they came.
	members []*member
	byID    map[string]*member
	// static maps instance ids to member ids.
	static map[string]string
	// supported counts for each protocol name the members that list it.
	supported map[string]int
	// awaitingJoin counts the members that wait in JoinGroup.
	awaitingJoin int
	// pending are the ids that were handed out (MEMBER_ID_REQUIRED) and have not come back yet.
	pending map[string]*pendingMember
	// pendingSync are the members of the generation that have not sent SyncGroup yet.
	pendingSync map[string]struct{}
	// subscribed are the topics that the members of a consumer group read; nil when that is not known.
	subscribed map[string]struct{}
	// newMemberAdded tells that somebody came during the initial delay, so that it is prolonged.
	newMemberAdded bool
	// joinTimer ends the join phase, syncTimer the wait for SyncGroup.
	joinTimer, syncTimer *coord.Timer
}

// pendingMember is an id that was handed out and not used yet.
type pendingMember struct {
	session *coord.Timer
	// settled is closed when the id has been used or given up.
	settled chan struct{}
}

func newClassicGroup(id string, nowMs int64) *classicGroup {
	return &classicGroup{
		id: id, state: Empty, previous: Dead, stateSinceMs: nowMs,
		byID: map[string]*member{}, static: map[string]string{}, supported: map[string]int{},
		pending: map[string]*pendingMember{}, pendingSync: map[string]struct{}{},
	}
}

// isSimple reports whether nothing is known of the group but its offsets: no record stands behind it.
func (g *classicGroup) isSimple() bool {
	return g.state == Empty && g.protocolType == "" && g.generation == 0 && len(g.members) == 0 && len(g.pending) == 0
}

func (g *classicGroup) usesConsumerProtocol() bool { return g.protocolType == consumerProtocolType }

func (g *classicGroup) isLeader(id string) bool { return id != "" && id == g.leader }

func (g *classicGroup) leaderOrNil() *string {
	if g.leader == "" {
		return nil
	}
	return &g.leader
}

// transition enters a state; the caller keeps the count of groups by state.
func (g *classicGroup) transition(to State, nowMs int64) {
	g.previous, g.state, g.stateSinceMs = g.state, to, nowMs
}

// add takes in a member; a is where it waits for the end of the join phase, nil if it does not.
func (g *classicGroup) add(m *member, a *joinAnswer) {
	if len(g.members) == 0 {
		g.protocolType = m.protocolType
	}
	if m.instance != nil {
		g.static[*m.instance] = m.id
	}
	if g.leader == "" {
		g.leader = m.id
	}
	g.members = append(g.members, m)
	g.byID[m.id] = m
	g.count(m, +1)
	g.await(m, a)
	g.settle(m.id)
}

// await makes a member wait in JoinGroup, or stop waiting. Somebody who waits already under that id is told to
// ask again: a client sends a second JoinGroup when it has lost sight of the first.
func (g *classicGroup) await(m *member, a *joinAnswer) {
	if m.join != nil {
		g.awaitingJoin--
		if m.join != a {
			m.join.give(joinFailed(m.id, kerr.RebalanceInProgress.Code))
		}
	}
	if m.join = a; a != nil {
		g.awaitingJoin++
	}
}

// awaitSync makes a member wait in SyncGroup; a second request of it takes the place of the first.
func (g *classicGroup) awaitSync(m *member, a *syncAnswer) {
	if m.sync != nil && m.sync != a {
		m.sync.give(syncFailed(kerr.RebalanceInProgress.Code))
	}
	m.sync = a
}

// remove takes a member or a pending id out of the group. The leader's place goes to the longest member.
func (g *classicGroup) remove(id string) {
	if m := g.byID[id]; m != nil {
		g.members = slices.DeleteFunc(g.members, func(x *member) bool { return x == m })
		delete(g.byID, id)
		g.count(m, -1)
		if m.join != nil {
			g.awaitingJoin--
		}
		if m.instance != nil && g.static[*m.instance] == id {
			delete(g.static, *m.instance)
		}
		m.session.Stop()
	}
	if g.isLeader(id) {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
	g.settle(id)
	delete(g.pendingSync, id)
}

// settle ends the wait for a pending id.
func (g *classicGroup) settle(id string) {
	if p := g.pending[id]; p != nil {
		delete(g.pending, id)
		p.session.Stop()
		close(p.settled)
	}
}

// count adds by to the counts of the protocols that m lists.
func (g *classicGroup) count(m *member, by int) {
	for i, p := range m.protocols {
		if !slices.ContainsFunc(m.protocols[:i], func(q protocol) bool { return q.name == p.name }) {
			g.supported[p.name] += by
			if g.supported[p.name] == 0 {
				delete(g.supported, p.name)
			}
		}
	}
}

// update takes over what a member says of itself when it joins again.
func (g *classicGroup) update(m *member, protocols []protocol, rebalanceTimeoutMs, sessionTimeoutMs int32, a *joinAnswer) {
	g.count(m, -1)
	m.protocols = protocols
	g.count(m, +1)
	m.rebalanceTimeoutMs, m.sessionTimeoutMs = rebalanceTimeoutMs, sessionTimeoutMs
	g.await(m, a)
}

// answerJoin lets a member go that waits in JoinGroup.
func (g *classicGroup) answerJoin(m *member, r *joinResponse) {
	if m.join != nil {
		m.join.give(r)
		m.join = nil
		g.awaitingJoin--
	}
}

// answerSync lets a member go that waits in SyncGroup; false if it does not.
func (g *classicGroup) answerSync(m *member, r *syncResponse) bool {
	if m.sync == nil {
		return false
	}
	m.sync.give(r)
	m.sync = nil
	return true
}

// replaceStatic gives the place of a static member to a new member id. Whoever waits under the old id is fenced.
func (g *classicGroup) replaceStatic(instance, oldID, newID string) *member {
	old := g.byID[oldID]
	g.answerJoin(old, joinFailed(oldID, kerr.FencedInstanceID.Code))
	g.answerSync(old, syncFailed(kerr.FencedInstanceID.Code))
	old.session.Stop()
	m := *old
	m.id, m.session, m.isNew = newID, nil, false
	g.members[slices.Index(g.members, old)] = &m
	delete(g.byID, oldID)
	delete(g.pendingSync, oldID)
	g.byID[newID] = &m
	if g.isLeader(oldID) {
		g.leader = newID
	}
	g.static[instance] = newID
	return &m
}

// allJoined reports whether the join phase may end: everybody waits, and no id is on its way (KIP-394).
func (g *classicGroup) allJoined() bool {
	return len(g.members) == g.awaitingJoin && len(g.pending) == 0
}

// electJoinedLeader makes sure that the leader is a member that waits; false if nobody waits.
func (g *classicGroup) electJoinedLeader() bool {
	if g.leader == "" {
		return false
	}
	if m := g.byID[g.leader]; m != nil && m.join != nil {
		return true
	}
	for _, m := range g.members {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// rebalanceTimeoutMs is the longest that a member asks for.
func (g *classicGroup) rebalanceTimeoutMs() int32 {
	var most int32
	for _, m := range g.members {
		most = max(most, m.rebalanceTimeoutMs)
	}
	return most
}

// validate checks who speaks for a member: the instance id must belong to the member id.
func (g *classicGroup) validate(id string, instance *string) *kerr.Error {
	if instance != nil {
		switch holder, known := g.static[*instance]; {
		case !known:
			return kerr.UnknownMemberID
		case holder != id:
			return kerr.FencedInstanceID
		}
	}
	if g.byID[id] == nil {
		return kerr.UnknownMemberID
	}
	return nil
}

// supports reports whether a member of that type with those protocols fits in.
func (g *classicGroup) supports(protocolType string, protocols []protocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	return g.protocolType == protocolType && slices.ContainsFunc(protocols, func(p protocol) bool {
		return g.supported[p.name] == len(g.members)
	})
}

// choose elects the protocol: each member votes for the first of its protocols that all members list; among
// equals the one that was voted for first wins.
func (g *classicGroup) choose() string {
	votes, best := map[string]int{}, ""
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.supported[p.name] == len(g.members) {
				votes[p.name]++
				break
			}
		}
	}
	most := 0
	for _, m := range g.members {
		for _, p := range m.protocols {
			if votes[p.name] > most {
				best, most = p.name, votes[p.name]
			}
		}
	}
	return best
}

// nextGeneration begins a generation with the members that are there.
func (g *classicGroup) nextGeneration() {
	g.generation++
	clear(g.pendingSync)
	g.protocol = nil
	if len(g.members) > 0 {
		chosen := g.choose()
		g.protocol = &chosen
	}
	g.computeSubscribed()
}

// computeSubscribed reads the members' subscriptions. Without members a consumer group reads nothing; what
// cannot be read leaves the topics unknown, and no offset of theirs expires or is deleted.
func (g *classicGroup) computeSubscribed() {
	g.subscribed = nil
	if !g.usesConsumerProtocol() || (len(g.members) > 0 && g.protocol == nil) {
		return
	}
	all := map[string]struct{}{}
	for _, m := range g.members {
		topics, err := subscribedTopics(m.metadata(g.protocol))
		if err != nil {
			return
		}
		for _, t := range topics {
			all[t] = struct{}{}
		}
	}
	g.subscribed = all
}

// isSubscribed reports whether a topic is read by the members, as far as is known.
func (g *classicGroup) isSubscribed(topic string) bool {
	if g.subscribed == nil {
		return g.usesConsumerProtocol()
	}
	_, ok := g.subscribed[topic]
	return ok
}
