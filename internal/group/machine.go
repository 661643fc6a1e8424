package group

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// env is what all shards share. Its fields are set once.
type env struct {
	settings func() Settings
	// topics gives the topics of the present image; nil before there is one.
	topics func() topicFinder
	// image gives the present image for what else is in it; it may return nil.
	image func() *metadata.Image
	// consumerConfig gives what holds for one group of the consumer protocol.
	consumerConfig func(group string) ConsumerConfig
	// streamsConfig gives what holds for one group of the streams protocol.
	streamsConfig func(group string) StreamsConfig
	// shareConfig gives what holds for one share group.
	shareConfig func(group string) ShareConfig
	// beginShares has states of share partitions begun, without waiting for that.
	beginShares func(*kmsg.InitializeShareGroupStateRequest)
	now         func() time.Time
	rand        io.Reader
	logger      *slog.Logger
	counters    counters
}

// topicFinder is what the coordinator needs of the metadata; metadata.Topics is one.
type topicFinder = view.Topics

// machine is the state of one partition of the offsets topic: the groups and offsets that hash to it.
type machine struct {
	env    *env
	timers *coord.Timers
	groups map[string]*classicGroup
	// consumers are the groups of the consumer protocol, streams those of the streams protocol, shares the share groups.
	consumers map[string]*consumerGroup
	streams   map[string]*streamsGroup
	shares    map[string]*shareGroup
	// initial runs while an empty streams group that got its first member waits for more.
	initial map[string]*coord.Timer
	offsets offsets
	expiry  *coord.Timer
}

func newMachine(e *env, timers *coord.Timers) *machine {
	return &machine{
		env: e, timers: timers,
		groups: map[string]*classicGroup{}, consumers: map[string]*consumerGroup{}, streams: map[string]*streamsGroup{}, initial: map[string]*coord.Timer{},
		shares: map[string]*shareGroup{}, offsets: newOffsets(),
	}
}

func (m *machine) nowMs() int64 { return m.env.now().UnixMilli() }

// Replay applies one record. Record types that are not known are left alone; a value that cannot be read is an
// error, as in Kafka: to go on without it would lose offsets.
func (m *machine) Replay(r coord.Replayed) error {
	recordType, group, ok := keyOf(r.Key)
	if !ok {
		m.env.logger.Warn("a record of the offsets topic has no group in its key and is left out", "offset", r.Offset)
		return nil
	}
	switch k := kindOf(recordType); {
	case k == consumerKind:
		return m.replayConsumer(group, r)
	case k == streamsKind:
		return m.replayStreams(group, r)
	case k == shareKind:
		return m.replayShare(group, r)
	case recordType == typeOffset || recordType == typeOffsetV0:
		return m.replayOffset(r)
	case recordType == typeGroup:
		return m.replayGroup(group, r)
	}
	m.env.logger.Warn("a record of unknown type in the offsets topic is left out", "type", recordType, "offset", r.Offset)
	return nil
}

func (m *machine) replayOffset(r coord.Replayed) error {
	var key stored.OffsetCommitKey
	if _, err := key.Decode(r.Key[2:], 0); err != nil {
		return err
	}
	if r.Value == nil {
		if m.offsets.remove(key.Group, key.Topic, key.Partition) {
			m.env.counters.offsets.Add(-1)
		}
		return nil
	}
	// Type 0 keys, written by 0.8, have values of the same layouts.
	value, err := decodeValue[*stored.OffsetCommitValue](r.Value, typeOffset)
	if err != nil {
		return err
	}
	m.simpleGroup(key.Group)
	c := committedFrom(r.Offset, value)
	switch {
	case r.ProducerID != record.NoProducerID:
		m.offsets.putPending(r.ProducerID, key.Group, key.Topic, key.Partition, c)
	case m.offsets.stable.put(key.Group, key.Topic, key.Partition, c):
		m.env.counters.offsets.Add(1)
	}
	return nil
}

var errValueType = errors.New("a value of another type than its key")

func decodeValue[T stored.Message](b []byte, recordType int16) (T, error) {
	var none T
	v, _, err := stored.DecodeValue(b, recordType, stored.NewGroupValue)
	if err != nil {
		return none, err
	}
	if t, ok := v.(T); ok {
		return t, nil
	}
	return none, errValueType
}

// simpleGroup makes the group that offsets belong to when nobody manages it: a group of consumers that assign
// their partitions themselves. Nothing is written for it.
func (m *machine) simpleGroup(id string) {
	if !m.taken(id) {
		m.insert(newClassicGroup(id, m.nowMs()))
	}
}

func (m *machine) replayGroup(id string, r coord.Replayed) error {
	if old := m.groups[id]; old != nil {
		m.remove(old)
	}
	if r.Value == nil {
		return nil
	}
	m.dropConsumer(m.consumers[id])
	m.dropStreams(m.streams[id])
	m.dropShare(m.shares[id])
	v, err := decodeValue[*stored.GroupMetadataValue](r.Value, typeGroup)
	if err != nil {
		return err
	}
	g := newClassicGroup(id, v.CurrentStateTimestamp)
	g.generation, g.protocolType, g.protocol = v.Generation, v.ProtocolType, v.Protocol
	for i := range v.Members {
		if x := memberFrom(v, &v.Members[i]); g.byID[x.id] == nil {
			g.add(x, nil)
		}
	}
	g.leader = ""
	if v.Leader != nil {
		g.leader = *v.Leader
	}
	if len(g.members) > 0 {
		g.state = Stable
	}
	g.computeSubscribed()
	m.insert(g)
	return nil
}

// memberFrom is a member as its group's record describes it. Of its protocols only the chosen one is stored.
func memberFrom(v *stored.GroupMetadataValue, x *stored.GroupMetadataValueMemberMetadata) *member {
	out := &member{
		id: x.MemberID, instance: x.GroupInstanceID, clientID: x.ClientID, clientHost: x.ClientHost,
		rebalanceTimeoutMs: x.RebalanceTimeout, sessionTimeoutMs: x.SessionTimeout,
		protocolType: v.ProtocolType, assignment: x.Assignment,
	}
	if out.rebalanceTimeoutMs == -1 { // version 0 has none
		out.rebalanceTimeoutMs = x.SessionTimeout
	}
	if v.Protocol != nil {
		out.protocols = []protocol{{*v.Protocol, x.Subscription}}
	}
	return out
}

// ReplayMarker ends a transaction that committed offsets.
func (m *machine) ReplayMarker(id record.ProducerID, commit bool) {
	m.env.counters.offsets.Add(int64(m.offsets.end(id, commit)))
}

// Loaded starts the clocks: members get a fresh session, groups that have become too large are rebalanced.
func (m *machine) Loaded() coord.Result {
	limit := m.env.settings().MaxSize
	for _, g := range m.groups {
		for _, x := range g.members {
			m.resetSession(g, x, x.sessionTimeoutMs)
		}
		if len(g.members) > limit {
			_ = m.prepareRebalance(g, fmt.Sprintf("%d members are more than group.max.size", len(g.members)))
		}
	}
	m.startConsumers()
	m.startStreams()
	m.startShares()
	m.scheduleExpiry()
	return coord.None()
}

// Unloaded answers whoever waits: another node, or nobody, is the coordinator now.
func (m *machine) Unloaded() {
	for _, g := range m.groups {
		m.discard(g, code(coord.ErrNotCoordinator))
	}
	for _, g := range m.consumers {
		m.dropConsumer(g)
	}
	for _, g := range m.streams {
		m.dropStreams(g)
	}
	for _, g := range m.shares {
		m.dropShare(g)
	}
	for id := range m.offsets.stable {
		m.offsets.stable.each(id, func(string, int32, committed) { m.env.counters.offsets.Add(-1) })
	}
}

// insert takes a group into the shard.
func (m *machine) insert(g *classicGroup) {
	m.groups[g.id] = g
	m.env.counters.groups[g.state].Add(1)
}

// remove takes a group out of the shard. Its members, if it has any, are gone without an answer.
func (m *machine) remove(g *classicGroup) {
	if m.groups[g.id] != g {
		return
	}
	delete(m.groups, g.id)
	m.env.counters.groups[g.state].Add(-1)
	g.joinTimer.Stop()
	g.syncTimer.Stop()
	for _, x := range g.members {
		x.session.Stop()
	}
	for id := range g.pending {
		g.settle(id)
	}
}

// discard takes a group out of the shard and answers its members with an error.
func (m *machine) discard(g *classicGroup, errorCode int16) {
	for _, x := range g.members {
		g.answerJoin(x, joinFailed(x.id, errorCode))
		g.answerSync(x, syncFailed(errorCode))
	}
	m.remove(g)
	g.transition(Dead, m.nowMs())
}

// enter moves a group to a state.
func (m *machine) enter(g *classicGroup, to State) {
	m.env.counters.groups[g.state].Add(-1)
	m.env.counters.groups[to].Add(1)
	g.transition(to, m.nowMs())
}
