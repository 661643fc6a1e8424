package group

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (c *client) shareBeat(group, member string, epoch int32, topics ...string) *kmsg.ShareGroupHeartbeatResponse {
	r := kmsg.NewPtrShareGroupHeartbeatRequest()
	r.Version = 1
	r.GroupID, r.MemberID, r.MemberEpoch = group, member, epoch
	if topics != nil {
		r.SubscribedTopicNames = topics
	}
	return c.h.ShareGroupHeartbeat(context.Background(), c.caller, r)
}

func (h *host) describeShare(group string) kmsg.ShareGroupDescribeResponseGroup {
	r := kmsg.NewPtrShareGroupDescribeRequest()
	r.Version, r.GroupIDs = 1, []string{group}
	return h.ShareGroupDescribe(context.Background(), Caller{}, r).Groups[0]
}

func (h *host) alterShare(group, topic string, starts ...int64) *kmsg.AlterShareGroupOffsetsResponse {
	r := kmsg.NewPtrAlterShareGroupOffsetsRequest()
	r.GroupID = group
	t := kmsg.NewAlterShareGroupOffsetsRequestTopic()
	t.Topic = topic
	for i, start := range starts {
		p := kmsg.NewAlterShareGroupOffsetsRequestTopicPartition()
		p.Partition, p.StartOffset = int32(i), start
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return h.AlterShareGroupOffsets(context.Background(), Caller{}, r)
}

func (h *host) unshareTopic(group, topic string) *kmsg.DeleteShareGroupOffsetsResponse {
	r := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
	r.GroupID = group
	t := kmsg.NewDeleteShareGroupOffsetsRequestTopic()
	t.Topic = topic
	r.Topics = append(r.Topics, t)
	return h.DeleteShareGroupOffsets(context.Background(), Caller{}, r)
}

func sharePartitions(r *kmsg.ShareGroupHeartbeatResponse) (n int) {
	if r.Assignment == nil {
		return -1
	}
	for _, t := range r.Assignment.TopicPartitions {
		n += len(t.Partitions)
	}
	return n
}

// G-09: what the share coordinator was asked for when the shard went away is asked for again, members go on with the
// epochs they have, and who does not come back is removed.
func TestG09ShareGroupsGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := newShareHost(t, nil)
		h.topics.add("t", 3)
		c := h.client("c")
		p.hold = make(chan struct{})
		wantCode(t, "join", c.shareBeat("g", "m", 0, "t").ErrorCode, nil)
		wantCode(t, "join of another", c.shareBeat("g", "other", 0, "t").ErrorCode, nil)
		h.restart()
		close(p.hold)
		synctest.Wait()
		if p.began != 3 { // the answer comes to a shard that has read the group: it may take it
			t.Errorf("%d states have begun", p.began)
		}
		time.Sleep(time.Second)
		r := c.shareBeat("g", "m", 2)
		synctest.Wait()
		time.Sleep(time.Second)
		if r.ErrorCode != 0 || r.Assignment == nil {
			r = c.shareBeat("g", "m", r.MemberEpoch)
		}
		if sharePartitions(r) < 1 || p.count() != 3 {
			t.Errorf("after the restart: %+v, %d states", r, p.count())
		}
		time.Sleep(43500 * time.Millisecond)
		if d := h.describeShare("g"); len(d.Members) != 1 || d.Members[0].MemberID != "m" {
			t.Errorf("who did not come back: %+v", d.Members)
		}
		h.Close()
	})
}

// G-09: a beginning that is lost together with the shard and its answer is made with the next heartbeat.
func TestG09BeginningIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := newShareHost(t, nil)
		h.topics.add("t", 2)
		c := h.client("c")
		h.env.beginShares = func(*kmsg.InitializeShareGroupStateRequest) {} // it never gets there
		wantCode(t, "join", c.shareBeat("g", "m", 0, "t").ErrorCode, nil)
		if r := c.shareBeat("g", "m", 2); r.MemberEpoch != 2 || p.count() != 0 {
			t.Errorf("without states: %+v", r)
		}
		h.env.beginShares = h.beginStates
		h.restart()
		c.shareBeat("g", "m", 2)
		synctest.Wait()
		time.Sleep(time.Second)
		if r := c.shareBeat("g", "m", 2); sharePartitions(r) != 2 {
			t.Errorf("after the restart: %+v", r)
		}
		h.Close()
	})
}

// The share coordinator may refuse: heartbeats go on and try again, who administers is told, and nothing is lost.
func TestShareCoordinatorRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := newShareHost(t, nil)
		h.topics.add("t", 2)
		c := h.client("c")
		p.refuse(kerr.CoordinatorNotAvailable.Code)
		for epoch := range int32(3) {
			wantCode(t, "heartbeat", c.shareBeat("g", "m", min(epoch, 1)*2, "t").ErrorCode, nil)
			synctest.Wait()
			time.Sleep(time.Second)
		}
		h.on("g", func(m *machine) {
			if s := m.shares["g"]; len(s.busy) != 0 || len(s.Partitions.Initializing) != 0 || len(s.Partitions.Initialized) != 0 {
				t.Errorf("refused: %+v", s.Partitions)
			}
		})
		p.refuse(0)
		c.shareBeat("g", "m", 2)
		synctest.Wait()
		if r := c.shareBeat("g", "m", 2); sharePartitions(r) != 2 {
			t.Errorf("when it does not refuse any more: %+v", r)
		}
		c.shareBeat("g", "m", -1)

		p.refuse(kerr.CoordinatorNotAvailable.Code)
		r := h.alterShare("g", "t", 5, 6, 7)
		for i, want := range []*kerr.Error{kerr.CoordinatorNotAvailable, kerr.CoordinatorNotAvailable, kerr.UnknownTopicOrPartition} {
			wantCode(t, "alter", r.Topics[0].Partitions[i].ErrorCode, want)
		}
		wantCode(t, "delete offsets", h.unshareTopic("g", "t").Topics[0].ErrorCode, kerr.CoordinatorNotAvailable)
		wantCode(t, "delete the group", h.deleteGroup("g"), kerr.CoordinatorNotAvailable)
		if d := h.describeShare("g"); d.ErrorCode != 0 || p.count() != 2 {
			t.Errorf("the group is still there: %+v, %d states", d, p.count())
		}
		p.refuse(0)
		wantCode(t, "delete the group", h.deleteGroup("g"), nil)
		if d := h.describeShare("g"); d.ErrorCode != kerr.GroupIDNotFound.Code || p.count() != 0 {
			t.Errorf("the group is gone: %+v, %d states", d, p.count())
		}
		h.Close()
	})
}

// A member that comes while states are being deleted gets them begun after that, not before: they would be deleted then.
func TestShareStatesAreDeletedBeforeTheyBegin(t *testing.T) {
	for _, what := range []string{"group", "offsets"} {
		synctest.Test(t, func(t *testing.T) {
			h, p := newShareHost(t, nil)
			h.topics.add("t", 2)
			c := h.client("c")
			wantCode(t, "alter", h.alterShare("g", "t", 5, 6).ErrorCode, nil)
			p.holdDelete = make(chan struct{})
			deleted := make(chan int16, 1)
			go func() {
				if what == "group" {
					deleted <- h.deleteGroup("g")
				} else {
					deleted <- h.unshareTopic("g", "t").ErrorCode
				}
			}()
			synctest.Wait()
			wantCode(t, "join", c.shareBeat("g", "m", 0, "t").ErrorCode, nil)
			synctest.Wait()
			if p.began != 2 {
				t.Errorf("%d states have begun while they are deleted", p.began-2)
			}
			close(p.holdDelete)
			want := kerr.NonEmptyGroup
			if what == "offsets" {
				want = nil
			}
			wantCode(t, "delete "+what, <-deleted, want)
			r := c.shareBeat("g", "m", 0, "t")
			synctest.Wait()
			time.Sleep(time.Second)
			if r = c.shareBeat("g", "m", r.MemberEpoch); sharePartitions(r) != 2 || p.began != 4 || p.count() != 2 {
				t.Errorf("after that: %+v, %d have begun, %d are there", r, p.began, p.count())
			}
			h.Close()
		})
	}
}

// Who administers a group waits for states that are being begun: what is asked for later is done later.
func TestShareStatesBeginBeforeTheyAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := newShareHost(t, nil)
		h.topics.add("t", 2)
		c := h.client("c")
		p.hold = make(chan struct{})
		wantCode(t, "join", c.shareBeat("g", "m", 0, "t").ErrorCode, nil)
		wantCode(t, "leave", c.shareBeat("g", "m", -1).ErrorCode, nil)
		answers := make(chan int16, 3)
		go func() { answers <- h.alterShare("g", "t", 7, 8).ErrorCode }()
		synctest.Wait()
		go func() { answers <- h.unshareTopic("g", "t").ErrorCode }()
		synctest.Wait()
		time.Sleep(idleTimeout / 2)
		if len(answers) != 0 {
			t.Error("somebody has not waited")
		}
		close(p.hold)
		for range 2 {
			wantCode(t, "alter and delete", <-answers, nil)
		}
		if n := p.count(); n != 0 && n != 2 { // whichever came last
			t.Errorf("%d states are there", n)
		}
		wantCode(t, "delete", h.deleteGroup("g"), nil)
		if n := p.count(); n != 0 {
			t.Errorf("%d states are there", n)
		}

		p.hold = make(chan struct{})
		c.shareBeat("g", "m", 0, "t")
		c.shareBeat("g", "m", -1)
		wantCode(t, "delete while states do not come to begin", h.deleteGroup("g"), kerr.CoordinatorNotAvailable)
		wantCode(t, "alter likewise", h.alterShare("g", "t", 1).ErrorCode, kerr.CoordinatorNotAvailable)
		close(p.hold)
		synctest.Wait()
		wantCode(t, "delete", h.deleteGroup("g"), nil)
		if n := p.count(); n != 0 {
			t.Errorf("%d states are there", n)
		}
		h.Close()
	})
}

// Records that cannot be written change nothing, and are tried again.
func TestShareGroupThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := newShareHost(t, nil)
		h.topics.add("t", 1)
		c := h.client("c")
		fail := func(err error) {
			for _, part := range h.parts {
				part.failWith(err)
			}
		}
		fail(errors.New("disk"))
		wantCode(t, "join", c.shareBeat("g", "m", 0, "t").ErrorCode, kerr.NotCoordinator)
		synctest.Wait()
		if p.count() != 0 {
			t.Error("a state has begun for a group that is not written")
		}
		fail(nil)
		wantCode(t, "join", c.shareBeat("g", "m", 0, "t").ErrorCode, nil)
		synctest.Wait()
		fail(errors.New("disk"))
		wantCode(t, "leave", c.shareBeat("g", "m", -1).ErrorCode, kerr.NotCoordinator)
		wantCode(t, "delete", h.deleteGroup("g"), kerr.NonEmptyGroup)
		time.Sleep(time.Minute) // its session ends, which cannot be written either
		fail(nil)
		if d := h.describeShare("g"); len(d.Members) != 1 {
			t.Errorf("nobody has left: %+v", d)
		}
		time.Sleep(time.Minute)
		if d := h.describeShare("g"); len(d.Members) != 0 {
			t.Errorf("the session has ended: %+v", d)
		}
		h.Close()
	})
}

// Without share.version, or a share coordinator, nothing of share groups is served.
func TestShareGroupsAreSwitchedOff(t *testing.T) {
	h, _ := newShareHost(t, func(s *Settings) { s.ShareProtocol = false })
	c := h.client("c")
	want := kerr.UnsupportedVersion
	wantCode(t, "heartbeat", c.shareBeat("g", "m", 0, "t").ErrorCode, want)
	wantCode(t, "describe", h.describeShare("g").ErrorCode, want)
	wantCode(t, "alter", h.alterShare("g", "t", 1).ErrorCode, want)
	wantCode(t, "delete", h.unshareTopic("g", "t").ErrorCode, want)
	r := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	r.Groups = append(r.Groups, kmsg.DescribeShareGroupOffsetsRequestGroup{GroupID: "g"})
	wantCode(t, "offsets", h.DescribeShareGroupOffsets(context.Background(), Caller{}, r).Groups[0].ErrorCode, want)
}

// The share group that Apache Kafka 4.4.0 has left is described as Kafka describes it, and deleted with its states.
func TestShareGroupOfKafka(t *testing.T) {
	h := kafkaHost(t)
	p := newPersister()
	h.Service.o.Persister = p
	d := h.describeShare("share-group")
	if d.ErrorCode != 0 || d.GroupState != "Empty" || d.GroupEpoch != 4 || d.AssignmentEpoch != 4 || d.Assignor != "simple" || len(d.Members) != 0 {
		t.Errorf("described: %+v", d)
	}
	h.on("share-group", func(m *machine) {
		s := m.shares["share-group"].Partitions
		if len(s.Initialized) != 1 || len(s.Initializing)+len(s.Deleting) != 0 {
			t.Fatalf("share partitions: %+v", s)
		}
		id := s.Initialized.IDs()[0]
		if x := s.Initialized[id]; id.String() != "_j6rm_xGTGWZBeaBkeVuAQ" || x.Name != "rolled" || !slices.Equal(x.Partitions, []int32{0}) {
			t.Errorf("share partitions: %+v", s)
		}
		h.topics.add("rolled", 1)
		h.topics.mu.Lock()
		h.topics.topics[1].ID = id
		h.topics.mu.Unlock()
	})
	m := h.Metrics()
	if m.ShareGroups != 1 || m.StableShareGroups != 0 {
		t.Errorf("counted: %+v", m)
	}
	wantCode(t, "delete", h.deleteGroup("share-group"), nil)
	if p.deleted != 1 {
		t.Errorf("%d states are deleted", p.deleted)
	}
	h.restart()
	wantCode(t, "describe", h.describeShare("share-group").ErrorCode, kerr.GroupIDNotFound)
}

func TestShareGroupsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := newShareHost(t, nil)
		h.topics.add("t", 1)
		c := h.client("c")
		c.shareBeat("g", "m", 0, "t")
		synctest.Wait()
		c.shareBeat("g", "m", 2)
		h.alterShare("empty", "t", 1)
		want := func(groups, stable, rebalances int64) {
			t.Helper()
			if m := h.Metrics(); m.ShareGroups != groups || m.StableShareGroups != stable || m.ShareRebalances != rebalances {
				t.Errorf("%d groups, %d stable, %d rebalances, want %d %d %d", m.ShareGroups, m.StableShareGroups, m.ShareRebalances, groups, stable, rebalances)
			}
		}
		want(2, 1, 2)
		c.shareBeat("g", "m", -1)
		want(2, 0, 3)
		c.shareBeat("g", "m", 0, "t")
		wantCode(t, "delete", h.deleteGroup("empty"), nil)
		want(1, 1, 4)
		h.Close()
		want(0, 0, 4)
	})
}
