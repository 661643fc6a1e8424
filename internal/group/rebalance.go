package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// resetSession starts the session timer of a member again.
func (m *machine) resetSession(g *classicGroup, x *member, timeoutMs int32) {
	if x.session == nil {
		x.session = m.timers.AfterFunc(millis(timeoutMs), func() coord.Result { return m.sessionExpired(g, x) })
		return
	}
	x.session.Reset(millis(timeoutMs))
}

// sessionExpired removes a member that has not been heard of, unless it waits for the others; the answer to
// what it waits for starts its session again.
func (m *machine) sessionExpired(g *classicGroup, x *member) coord.Result {
	if m.groups[g.id] != g || g.byID[x.id] != x || x.alive() {
		return coord.None()
	}
	m.env.logger.Info("a group member has not been heard of in time and is removed", "group", g.id, "member", x.id, "client", x.clientHost)
	return m.removeMember(g, x, "the session of "+x.id+" expired")
}

// removeMember removes a member and sees to it that the others go on.
func (m *machine) removeMember(g *classicGroup, x *member, reason string) coord.Result {
	// A new member may wait in JoinGroup: it asks again with no id if it is still there.
	g.answerJoin(x, joinFailed("", kerr.UnknownMemberID.Code))
	g.answerSync(x, syncFailed(kerr.UnknownMemberID.Code))
	g.remove(x.id)
	switch g.state {
	case Stable, CompletingRebalance:
		return m.rebalanceOrComplete(g, reason)
	case PreparingRebalance:
		if g.allJoined() {
			return m.completeJoin(g)
		}
	}
	return coord.None()
}

// removePending gives up an id that was handed out.
func (m *machine) removePending(g *classicGroup, id string) coord.Result {
	if m.groups[g.id] != g || g.pending[id] == nil {
		return coord.None()
	}
	g.settle(id)
	if g.state == PreparingRebalance && g.allJoined() {
		return m.completeJoin(g)
	}
	return coord.None()
}

// rebalanceOrComplete begins a rebalance, or ends the join phase of the present one if nobody is missing.
func (m *machine) rebalanceOrComplete(g *classicGroup, reason string) coord.Result {
	switch g.state {
	case Stable, CompletingRebalance, Empty:
		return m.prepareRebalance(g, reason)
	default:
		return m.maybeCompleteJoin(g)
	}
}

// prepareRebalance begins a join phase. The first members of an empty group wait a little for others.
func (m *machine) prepareRebalance(g *classicGroup, reason string) coord.Result {
	if g.state == CompletingRebalance {
		m.failSync(g, kerr.RebalanceInProgress.Code)
	}
	clear(g.pendingSync)
	g.syncTimer.Stop()
	m.env.logger.Debug("a group prepares to rebalance", "group", g.id, "state", g.state.String(), "generation", g.generation, "reason", reason)
	initial := g.state == Empty
	m.enter(g, PreparingRebalance)
	if initial {
		delay := m.env.settings().InitialRebalanceDelay
		m.delayInitial(g, delay, max(millis(g.rebalanceTimeoutMs())-delay, 0))
		return coord.None()
	}
	if g.allJoined() {
		return m.completeJoin(g)
	}
	m.startJoinTimer(g, millis(g.rebalanceTimeoutMs()), func() coord.Result { return m.completeJoin(g) })
	return coord.None()
}

// startJoinTimer lets f run after d, if the group is still here and in its join phase.
func (m *machine) startJoinTimer(g *classicGroup, d time.Duration, f func() coord.Result) {
	g.joinTimer.Stop()
	g.joinTimer = m.timers.AfterFunc(d, func() coord.Result {
		if m.groups[g.id] != g || g.state != PreparingRebalance {
			return coord.None()
		}
		return f()
	})
}

// delayInitial ends the first join phase after delay. If somebody has come meanwhile it is prolonged, by the
// delay again, but by no more than remaining in total.
func (m *machine) delayInitial(g *classicGroup, delay, remaining time.Duration) {
	m.startJoinTimer(g, delay, func() coord.Result {
		if !g.newMemberAdded || remaining == 0 {
			return m.completeJoin(g)
		}
		g.newMemberAdded = false
		next := min(m.env.settings().InitialRebalanceDelay, remaining)
		m.delayInitial(g, next, max(remaining-delay, 0))
		return coord.None()
	})
}

// maybeCompleteJoin ends the join phase if everybody is there. The first one of an empty group ends by time.
func (m *machine) maybeCompleteJoin(g *classicGroup) coord.Result {
	if g.state != PreparingRebalance || g.previous == Empty || !g.allJoined() {
		return coord.None()
	}
	return m.completeJoin(g)
}

// completeJoin begins the next generation with those who joined. Dynamic members that did not are removed;
// static ones stay until their session ends.
func (m *machine) completeJoin(g *classicGroup) coord.Result {
	g.joinTimer.Stop()
	for _, x := range append([]*member(nil), g.members...) {
		if x.join == nil && !x.isStatic() {
			m.env.logger.Info("a group member did not join the rebalance in time and is removed", "group", g.id, "member", x.id)
			g.remove(x.id)
		}
	}
	if !g.electJoinedLeader() && len(g.members) > 0 {
		// Only static members are left, and none is here: wait on, until they come or their sessions end.
		m.startJoinTimer(g, millis(g.rebalanceTimeoutMs()), func() coord.Result { return m.completeJoin(g) })
		return coord.None()
	}
	g.newMemberAdded = false
	g.nextGeneration()
	if len(g.members) == 0 {
		m.enter(g, Empty)
		return m.writeEmpty(g)
	}
	m.enter(g, CompletingRebalance)
	for _, x := range g.members {
		g.answerJoin(x, joined(g, x, false))
		m.resetSession(g, x, x.sessionTimeoutMs)
		x.isNew = false
		g.pendingSync[x.id] = struct{}{}
	}
	m.awaitSyncs(g)
	return coord.None()
}

// writeEmpty records that a generation has no members. If that fails the generation before it comes back after
// a restart, and its members' sessions end then.
func (m *machine) writeEmpty(g *classicGroup) coord.Result {
	return coord.Result{Records: []coord.Record{groupRecord(g, nil)}, Applied: true, Done: func(err error) coord.Result {
		if err != nil {
			m.env.logger.Warn("cannot record that a group is empty", "group", g.id, "err", err)
		}
		return coord.None()
	}}
}

// joined is the answer to a member of the present generation; the leader gets to know all members.
func joined(g *classicGroup, x *member, skipAssignment bool) *joinResponse {
	r := joinFailed(x.id, 0)
	r.Generation = g.generation
	if g.protocolType != "" {
		r.ProtocolType = kmsg.StringPtr(g.protocolType)
	}
	r.Protocol = g.protocol
	r.LeaderID = g.leader
	r.SkipAssignment = skipAssignment
	if g.isLeader(x.id) {
		r.Members = joinedMembers(g)
	}
	return r
}

func joinedMembers(g *classicGroup) []kmsg.JoinGroupResponseMember {
	out := make([]kmsg.JoinGroupResponseMember, 0, len(g.members))
	for _, x := range g.members {
		j := kmsg.NewJoinGroupResponseMember()
		j.MemberID, j.InstanceID, j.ProtocolMetadata = x.id, x.instance, x.metadata(g.protocol)
		out = append(out, j)
	}
	return out
}

// awaitSyncs removes the members of this generation that do not send SyncGroup within the rebalance timeout.
func (m *machine) awaitSyncs(g *classicGroup) {
	generation := g.generation
	g.syncTimer.Stop()
	g.syncTimer = m.timers.AfterFunc(millis(g.rebalanceTimeoutMs()), func() coord.Result {
		if m.groups[g.id] != g || g.generation != generation || len(g.pendingSync) == 0 ||
			(g.state != CompletingRebalance && g.state != Stable) {
			return coord.None()
		}
		for _, x := range append([]*member(nil), g.members...) {
			if _, missing := g.pendingSync[x.id]; missing {
				m.env.logger.Info("a group member did not ask for its assignment in time and is removed", "group", g.id, "member", x.id)
				g.answerJoin(x, joinFailed("", kerr.UnknownMemberID.Code))
				g.remove(x.id)
			}
		}
		return m.prepareRebalance(g, "members did not send SyncGroup in time")
	})
}

// failSync takes the assignments back and answers those who wait for one with an error.
func (m *machine) failSync(g *classicGroup, errorCode int16) {
	for _, x := range g.members {
		x.assignment = nil
		if g.answerSync(x, syncFailed(errorCode)) {
			m.resetSession(g, x, x.sessionTimeoutMs)
		}
	}
}
