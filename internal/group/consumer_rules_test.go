package group

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// member848 is a client of the consumer protocol: it reads what it is told, and gives up at once what it must.
type member848 struct {
	*client
	group, id string
	instance  *string
	topics    []string
	regex     *string
	epoch     int32
	owned     map[record.UUID][]int32
}

func (h *host) modern(group, id string, topics ...string) *member848 {
	return &member848{client: h.client(id), group: group, id: id, topics: topics, owned: map[record.UUID][]int32{}}
}

func (m *member848) request() *beatRequest {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.MemberEpoch, r.InstanceID = 1, m.group, m.id, m.epoch, m.instance
	r.RebalanceTimeoutMillis, r.SubscribedTopicNames, r.SubscribedTopicRegex = 10_000, m.topics, m.regex
	if r.SubscribedTopicNames == nil {
		r.SubscribedTopicNames = []string{}
	}
	r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for id, ps := range m.owned {
		r.Topics = append(r.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: id, Partitions: ps})
	}
	return r
}

// beat848 sends a full heartbeat and returns its error.
func (m *member848) beat848() int16 {
	r := m.h.ConsumerGroupHeartbeat(context.Background(), m.caller, m.request())
	if r.ErrorCode == 0 {
		m.epoch = r.MemberEpoch
		m.owned = map[record.UUID][]int32{}
		for _, t := range r.Assignment.Topics {
			m.owned[t.TopicID] = t.Partitions
		}
	}
	return r.ErrorCode
}

func (m *member848) leave848(epoch int32) int16 {
	r := m.request()
	r.MemberEpoch = epoch
	return m.h.ConsumerGroupHeartbeat(context.Background(), m.caller, r).ErrorCode
}

func (m *member848) count() int {
	n := 0
	for _, ps := range m.owned {
		n += len(ps)
	}
	return n
}

func (h *host) state848(group string) kmsg.ConsumerGroupDescribeResponseGroup {
	return h.ConsumerGroupDescribe(context.Background(), Caller{}, &kmsg.ConsumerGroupDescribeRequest{Version: 1, Groups: []string{group}}).Groups[0]
}

// types are the record types in the log of a group's partition, tombstones negative.
func (h *host) types(group string) []int {
	var out []int
	for _, r := range h.records(group) {
		n := int(binary.BigEndian.Uint16(r.Key))
		if r.Value == nil {
			n = -n
		}
		out = append(out, n)
	}
	return out
}

// The records of a group's life stand in the order in which Apache Kafka 4.4.0 writes them.
func TestConsumerRecordOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 2)
		a, b := h.modern("g", "a", "topic"), h.modern("g", "b", "topic")
		next := 0
		step := func(what string, m *member848, want ...int) {
			t.Helper()
			if m != nil {
				wantCode(t, what, m.beat848(), nil)
			}
			got := h.types("g")
			if !slices.Equal(got[next:], want) {
				t.Errorf("%s wrote %v, want %v", what, got[next:], want)
			}
			next = len(got)
		}
		step("A joins", a, 5, 3, 7, 6, 8)
		step("A stays", a)
		time.Sleep(2 * time.Second)
		step("B joins", b, 5, 3, 7, 7, 6, 8)
		step("A is told to give one up", a, 8)
		step("A gave it up", a, 8)
		step("B takes it over", b, 8)
		wantCode(t, "B leaves", b.leave848(-1), nil)
		step("B leaves", nil, -8, -7, -5, 3)
		wantCode(t, "A leaves", a.leave848(-1), nil)
		step("A leaves", nil, -8, -7, -5, 3, 6)
		wantCode(t, "delete", h.deleteGroup("g"), nil)
		step("delete", nil, -6, -4, -3)
		h.Close()
	})
}

// G-04: a heartbeat that is repeated because its answer was lost is answered again; topics that come later and match
// a member's expression are read.
func TestG04RepeatedHeartbeatAndLaterTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("logs-1", 2)
		a := h.modern("g", "a")
		a.regex = kmsg.StringPtr("logs-.*")
		wantCode(t, "join", a.beat848(), nil)
		if a.epoch != 1 || a.count() != 0 {
			t.Errorf("epoch %d with %v, want 1 with nothing", a.epoch, a.owned)
		}
		time.Sleep(time.Second)
		lost := *a
		wantCode(t, "beat", a.beat848(), nil)
		if a.epoch != 2 || a.count() != 2 {
			t.Errorf("epoch %d with %v, want 2 with two partitions", a.epoch, a.owned)
		}
		before := len(h.types("g"))
		wantCode(t, "the same beat again", lost.beat848(), nil)
		if lost.epoch != a.epoch || lost.count() != 2 || len(h.types("g")) != before {
			t.Errorf("epoch %d with %v", lost.epoch, lost.owned)
		}
		a.epoch, a.owned = 0, nil
		wantCode(t, "join again", a.beat848(), nil)
		if a.epoch != 2 || a.count() != 2 || len(h.types("g")) != before {
			t.Errorf("after joining again: epoch %d with %v", a.epoch, a.owned)
		}

		id := h.topics.add("logs-2", 1)
		h.Publish(&metadata.Delta{CreatedTopics: []*metadata.Topic{h.topics.ByID(id)}}, nil)
		time.Sleep(3 * time.Second)
		wantCode(t, "beat after a topic came", a.beat848(), nil)
		if a.epoch != 3 || a.count() != 3 {
			t.Errorf("epoch %d with %v, want 3 with three partitions", a.epoch, a.owned)
		}
		h.restart()
		wantCode(t, "beat after a restart", a.beat848(), nil)
		if a.epoch != 3 || a.count() != 3 {
			t.Errorf("after a restart: epoch %d with %v", a.epoch, a.owned)
		}
		h.Close()
	})
}

// A topic that grows is noticed at the next heartbeat, and a member that does not give partitions up in time, or is
// silent, is removed.
func TestConsumerTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 4)
		a, b := h.modern("g", "a", "topic"), h.modern("g", "b", "topic")
		wantCode(t, "A joins", a.beat848(), nil)
		time.Sleep(2 * time.Second)
		wantCode(t, "B joins", b.beat848(), nil)
		kept := a.owned
		wantCode(t, "A is told", a.beat848(), nil)
		for range 9 {
			a.owned = kept // it does not give up anything
			wantCode(t, "A beats on", a.beat848(), nil)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second)
		wantCode(t, "A after its rebalance timeout", a.beat848(), kerr.UnknownMemberID)
		wantCode(t, "B", b.beat848(), nil)
		if b.count() != 4 {
			t.Errorf("B has %v", b.owned)
		}
		time.Sleep(44 * time.Second)
		wantCode(t, "B within its session", b.beat848(), nil)
		time.Sleep(46 * time.Second)
		wantCode(t, "B after its session", b.beat848(), kerr.UnknownMemberID)
		if d := h.state848("g"); d.State != "Empty" {
			t.Errorf("the group is %s", d.State)
		}
		h.Close()
	})
}

// Commits with an epoch that is over pass for partitions that the member had then already.
func TestCommitsBetweenEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 2)
		a, b := h.modern("g", "a", "topic"), h.modern("g", "b", "topic")
		wantCode(t, "A joins", a.beat848(), nil)
		time.Sleep(2 * time.Second)
		wantCode(t, "B joins", b.beat848(), nil)
		for range 3 {
			wantCode(t, "A", a.beat848(), nil)
			wantCode(t, "B", b.beat848(), nil)
		}
		mine := slices.Collect(func(yield func(int32) bool) {
			for _, ps := range a.owned {
				for _, p := range ps {
					yield(p)
				}
			}
		})
		if a.epoch != 3 || len(mine) != 1 {
			t.Fatalf("A has %v at epoch %d", mine, a.epoch)
		}
		wantCode(t, "at the old epoch, what it kept", a.commit("g", "a", 2, "topic", mine[0], 1, nil), nil)
		wantCode(t, "at the old epoch, what it gave up", a.commit("g", "a", 2, "topic", 1-mine[0], 1, nil), kerr.StaleMemberEpoch)
		wantCode(t, "at an epoch before it had it", a.commit("g", "a", 1, "topic", mine[0], 1, nil), kerr.StaleMemberEpoch)
		wantCode(t, "at the present epoch", a.commit("g", "a", 3, "topic", mine[0], 1, nil), nil)
		wantCode(t, "at one to come", a.commit("g", "a", 4, "topic", mine[0], 1, nil), kerr.StaleMemberEpoch)
		h.Close()
	})
}

// eager is a client of the classic protocol with eager rebalancing, which joins again whenever it is told to.
type eager struct {
	*client
	group, id  string
	generation int32
	owned      []int32
}

// turn does what a heartbeat leads to.
func (e *eager) turn() {
	switch c := e.beat(e.group, e.id, e.generation); c {
	case 0:
		return
	case kerr.RebalanceInProgress.Code:
	case kerr.IllegalGeneration.Code, kerr.UnknownMemberID.Code:
		e.h.t.Errorf("%s: heartbeat: %s", e.id, codeName(c))
	}
	e.rejoin()
}

func (e *eager) rejoin() {
	e.owned = nil
	j := e.join(joinRequest(e.group, e.id, nil))
	if j.ErrorCode == kerr.RebalanceInProgress.Code {
		return
	}
	wantCode(e.h.t, e.id+" joins", j.ErrorCode, nil)
	assignment := map[string]string{}
	if j.LeaderID == e.id {
		for i, m := range j.Members {
			assignment[m.MemberID] = string(assignmentOf("topic", int32(i)))
		}
	}
	e.generation = j.Generation
	s := e.sync(e.group, e.id, j.Generation, assignment)
	if s.ErrorCode != 0 {
		return // it joins again at the next heartbeat
	}
	a := kmsg.NewConsumerMemberAssignment()
	if err := a.ReadFrom(s.MemberAssignment); err != nil {
		e.h.t.Errorf("%s: %v", e.id, err)
	}
	for _, t := range a.Topics {
		e.owned = append(e.owned, t.Partitions...)
	}
}

func assignmentOf(topic string, partitions ...int32) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: partitions}}
	return a.AppendTo(nil)
}

// G-13: the members of a group change over to the consumer protocol one by one, and back, without the group going
// empty or losing its offsets.
func TestG13MembersChangeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 2)
		old := []*eager{}
		for i := range 2 {
			e := &eager{client: h.client(fmt.Sprint("old", i)), group: "g"}
			r := e.join(joinRequest("g", "", nil))
			e.id = r.MemberID
			old = append(old, e)
		}
		old[0].rejoin()
		go old[1].rejoin()
		synctest.Wait()
		old[0].turn()
		synctest.Wait()
		if len(old[0].owned)+len(old[1].owned) != 2 {
			t.Fatalf("the classic members have %v and %v", old[0].owned, old[1].owned)
		}
		wantCode(t, "commit", old[0].commit("g", old[0].id, old[0].generation, "topic", 0, 7, nil), nil)

		// One leaves, and comes back with the new protocol: the group changes over.
		old[1].client.leave("g", old[1].id)
		go old[0].turn()
		synctest.Wait()
		n := h.modern("g", "new", "topic")
		wantCode(t, "the first new member", n.beat848(), nil)
		for range 8 {
			time.Sleep(time.Second)
			old[0].turn()
			wantCode(t, "the new member", n.beat848(), nil)
		}
		if d := h.state848("g"); d.State != "Stable" || len(d.Members) != 2 {
			t.Errorf("the group is %s with %d members", d.State, len(d.Members))
		}
		if len(old[0].owned) != 1 || n.count() != 1 {
			t.Errorf("old has %v, new has %v", old[0].owned, n.owned)
		}
		wantCode(t, "commit of the classic member", old[0].commit("g", old[0].id, old[0].generation, "topic", 0, 8, nil), nil)
		h.restart()
		old[0].turn()
		wantCode(t, "the new member after a restart", n.beat848(), nil)

		// The last of the new protocol leaves: the group changes back.
		wantCode(t, "the new member leaves", n.leave848(-1), nil)
		for range 3 {
			time.Sleep(time.Second)
			old[0].turn()
		}
		if d := h.describe("g"); d.State != "Stable" || d.ProtocolType != "consumer" || len(d.Members) != 1 {
			t.Errorf("changed back: %+v", d)
		}
		h.restart()
		old[0].turn()
		if p := old[0].fetch("g", "topic", 0, true); p.Offset != 8 {
			t.Errorf("offset %d, want 8", p.Offset)
		}
		h.Close()
	})
}

// The migration policy keeps groups as they are, and groups of other types never change.
func TestMigrationPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(s *Settings) { s.Upgrade, s.Downgrade = false, false })
		h.topics.add("topic", 1)
		e := &eager{client: h.client("old"), group: "g"}
		e.id = e.join(joinRequest("g", "", nil)).MemberID
		e.rejoin()
		n := h.modern("g", "new", "topic")
		wantCode(t, "upgrade", n.beat848(), kerr.GroupIDNotFound)
		h.change(func(s *Settings) { s.Upgrade = true })
		wantCode(t, "upgrade", n.beat848(), nil)
		wantCode(t, "the last new member leaves", n.leave848(-1), nil)
		if d := h.state848("g"); d.State == "" || len(d.Members) != 1 {
			t.Errorf("without downgrades: %+v", d)
		}
		c := h.client("connect")
		other := func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" }
		r := c.join(joinRequest("connect", "", other))
		wantCode(t, "join of Connect", c.join(joinRequest("connect", r.MemberID, other)).ErrorCode, nil)
		wantCode(t, "upgrade of Connect", h.modern("connect", "new", "topic").beat848(), kerr.GroupIDNotFound)
		h.change(func(s *Settings) { s.ConsumerProtocol = false })
		wantCode(t, "switched off", n.beat848(), kerr.UnsupportedVersion)
		if d := h.state848("g"); d.ErrorCode != kerr.UnsupportedVersion.Code {
			t.Errorf("describe when switched off: %s", codeName(d.ErrorCode))
		}
		h.Close()
	})
}
