package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
)

// join takes a JoinGroup request (GroupMetadataManager.classicGroupJoin). Whatever it answers, a group that did
// not exist exists afterwards if the request had no member id, and its first record is written.
func (m *machine) join(j *joining) coord.Result {
	if k := m.consumerOf(j.group); k != nil && len(k.Members) > 0 {
		return m.joinConsumers(k, j)
	}
	g, dead, refused := m.groupToJoin(j)
	if refused != nil {
		j.answer.give(refused)
		return coord.None()
	}
	if g == nil {
		g = newClassicGroup(j.group, m.nowMs())
		m.insert(g)
		return m.joinNewGroup(g, j, dead)
	}
	return m.joinGroup(g, j)
}

// groupToJoin finds the group of a request; nil if it is to be made, with the tombstones of an empty group of
// another kind that had the id. Groups of other kinds with members keep their id.
func (m *machine) groupToJoin(j *joining) (*classicGroup, []coord.Record, *joinResponse) {
	if g := m.groups[j.group]; g != nil {
		return g, nil, nil
	}
	f, k, x := m.shares[j.group], m.consumers[j.group], m.streams[j.group]
	switch {
	case f != nil, x != nil && len(x.Members) > 0:
		return nil, nil, joinFailed("", kerr.InconsistentGroupProtocol.Code)
	case j.memberID != "":
		return nil, nil, joinFailed(j.memberID, kerr.UnknownMemberID.Code)
	case k != nil:
		return nil, k.Tombstones(), nil
	case x != nil:
		return nil, x.Tombstones(), nil
	}
	return nil, nil, nil
}

// joinNewGroup joins a group that was just made. Its answer is held back until the group is written; if that
// fails, the group has never been there.
func (m *machine) joinNewGroup(g *classicGroup, j *joining, dead []coord.Record) coord.Result {
	j.answer.hold()
	k, x := m.consumers[g.id], m.streams[g.id]
	r := m.joinGroup(g, j)
	r.Records = append(append(dead, newGroupRecord(g)), r.Records...)
	r.Applied = true
	return withAnswer(r, func(err error) {
		switch {
		case err != nil:
			m.env.logger.Warn("cannot record a new group", "group", g.id, "err", err)
			m.discard(g, code(err))
			j.answer.replace(joinFailed("", code(err)))
		case k != nil && m.consumers[g.id] == k:
			m.dropConsumer(k)
		case x != nil && m.streams[g.id] == x:
			m.dropStreams(x)
		}
		j.answer.release()
	})
}

func (m *machine) joinGroup(g *classicGroup, j *joining) coord.Result {
	switch {
	case !m.hasRoom(g, j.memberID):
		g.remove(j.memberID)
		j.answer.give(joinFailed("", kerr.GroupMaxSizeReached.Code))
	case !g.supports(j.protocolType, j.protocols):
		j.answer.give(joinFailed(j.memberID, kerr.InconsistentGroupProtocol.Code))
	case j.memberID == "":
		return m.joinUnknown(g, j)
	default:
		return m.joinKnown(g, j)
	}
	return coord.None()
}

// hasRoom applies group.max.size. While members join, those who wait are counted, so that the last to come are
// turned away; else the members.
func (m *machine) hasRoom(g *classicGroup, memberID string) bool {
	limit := m.env.settings().MaxSize
	x := g.byID[memberID]
	switch g.state {
	case PreparingRebalance:
		return x != nil && x.join != nil || g.awaitingJoin < limit
	case CompletingRebalance, Stable:
		return x != nil || len(g.members) < limit
	}
	return true
}

// joinUnknown takes a join without a member id: a new member, or a static one that has restarted.
func (m *machine) joinUnknown(g *classicGroup, j *joining) coord.Result {
	prefix := j.clientID
	if j.instance != nil {
		prefix = *j.instance
	}
	id, err := m.newMemberID(prefix)
	if err != nil {
		m.env.logger.Error("no random bytes for a member id", "err", err)
		j.answer.give(joinFailed("", kerr.UnknownServerError.Code))
		return coord.None()
	}
	j.given = id
	switch {
	case j.instance != nil:
		if old, ok := g.static[*j.instance]; ok {
			return m.rejoinStatic(g, j, old)
		}
		return m.addMember(g, j, id)
	case j.version >= 4: // the client must come back with the id (KIP-394)
		p := &pendingMember{settled: make(chan struct{})}
		p.session = m.timers.AfterFunc(millis(j.sessionTimeoutMs), func() coord.Result { return m.removePending(g, id) })
		g.pending[id] = p
		j.pending = p
		j.answer.give(joinFailed(id, kerr.MemberIDRequired.Code))
		return coord.None()
	}
	return m.addMember(g, j, id)
}

// joinKnown takes a join with a member id.
func (m *machine) joinKnown(g *classicGroup, j *joining) coord.Result {
	if g.pending[j.memberID] != nil {
		if j.instance != nil { // ids of static members are never pending
			j.answer.give(joinFailed("", kerr.UnknownServerError.Code))
			return coord.None()
		}
		return m.addMember(g, j, j.memberID)
	}
	if e := g.validate(j.memberID, j.instance); e != nil {
		j.answer.give(joinFailed(j.memberID, e.Code))
		return coord.None()
	}
	x := g.byID[j.memberID]
	switch same := x.matches(j.protocols); {
	case g.state == PreparingRebalance,
		g.state == CompletingRebalance && !same,
		// A leader that joins again wants to assign again, for reasons that it need not tell.
		g.state == Stable && (g.isLeader(x.id) || !same):
		g.update(x, j.protocols, j.rebalanceTimeoutMs, j.sessionTimeoutMs, j.answer)
		return m.rebalanceOrComplete(g, "member "+x.id+" joins again: "+j.reason)
	case g.state == CompletingRebalance || g.state == Stable:
		// It has not seen the answer to its join, or wants to know where the group stands.
		j.answer.give(joined(g, x, false))
		return coord.None()
	}
	j.answer.give(joinFailed(j.memberID, kerr.UnknownMemberID.Code))
	return coord.None()
}

// addMember makes a member of a join and rebalances.
func (m *machine) addMember(g *classicGroup, j *joining, id string) coord.Result {
	x := &member{
		id: id, instance: j.instance, clientID: j.clientID, clientHost: j.clientHost,
		rebalanceTimeoutMs: j.rebalanceTimeoutMs, sessionTimeoutMs: j.sessionTimeoutMs,
		protocolType: j.protocolType, protocols: j.protocols, isNew: true,
	}
	if g.state == PreparingRebalance && g.previous == Empty {
		g.newMemberAdded = true
	}
	g.add(x, j.answer)
	m.resetSession(g, x, int32(newMemberJoinTimeout.Milliseconds()))
	return m.rebalanceOrComplete(g, "new member "+id+": "+j.reason)
}

// rejoinStatic gives the place of a static member to its new incarnation. In a stable group nothing else
// changes as long as the protocol stays the same (KIP-345); one that is being assigned must start over, because
// the leader knows the old id (15.1 item 14).
func (m *machine) rejoinStatic(g *classicGroup, j *joining, oldID string) coord.Result {
	before := *g.byID[oldID]
	leaderBefore := g.leader
	x := g.replaceStatic(*j.instance, oldID, j.given)
	m.resetSession(g, x, x.sessionTimeoutMs)
	g.update(x, j.protocols, j.rebalanceTimeoutMs, j.sessionTimeoutMs, j.answer)
	switch {
	case g.state == CompletingRebalance:
		return m.prepareRebalance(g, "static member "+x.id+" has restarted")
	case g.state == PreparingRebalance:
		return m.maybeCompleteJoin(g)
	case g.protocol == nil || *g.protocol != g.choose():
		return m.rebalanceOrComplete(g, "static member "+x.id+" has restarted with another protocol")
	}
	return coord.Result{Records: []coord.Record{groupRecord(g, assignments(g))}, Applied: true, Done: func(err error) coord.Result {
		m.staticStored(g, j, x, before, leaderBefore, err)
		return coord.None()
	}}
}

// staticStored answers a static member whose new id was written, or puts the old one back.
func (m *machine) staticStored(g *classicGroup, j *joining, x *member, before member, leaderBefore string, err error) {
	if g.byID[x.id] != x {
		return // replaced or removed meanwhile, and answered
	}
	if err != nil {
		m.env.logger.Warn("cannot record the new id of a static member, its old one stays", "group", g.id, "member", x.id, "err", err)
		r := joined(g, x, false)
		r.MemberID, r.LeaderID, r.Members, r.ErrorCode = "", leaderBefore, nil, code(err)
		g.answerJoin(x, r)
		old := g.replaceStatic(*j.instance, x.id, before.id)
		g.update(old, before.protocols, before.rebalanceTimeoutMs, before.sessionTimeoutMs, nil)
		m.resetSession(g, old, old.sessionTimeoutMs)
		return
	}
	r := joined(g, x, j.version >= 9 && g.isLeader(x.id))
	if j.version < 9 {
		// The client cannot be told to skip the assignment: it does not know itself as the leader then.
		r.LeaderID, r.Members = leaderBefore, nil
	}
	g.answerJoin(x, r)
}

// assignments are those of the present generation.
func assignments(g *classicGroup) map[string][]byte {
	out := make(map[string][]byte, len(g.members))
	for _, x := range g.members {
		out[x.id] = x.assignment
	}
	return out
}
