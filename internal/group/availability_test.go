package group

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/storage"
)

// A failed write is answered with what clients understand, and leaves the group as it was.
func TestWritesThatFail(t *testing.T) {
	for _, c := range []struct {
		fail error
		want *kerr.Error
	}{
		{storage.ErrStorage, kerr.NotCoordinator},
		{storage.ErrMessageTooLarge, kerr.UnknownServerError},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			h.topics.add("topic", 1)
			failing := func(err error) {
				for _, p := range h.parts {
					p.failWith(err)
				}
			}
			cl := h.client("c")
			static := func(r *kmsg.JoinGroupRequest) { r.InstanceID = kmsg.StringPtr("i") }
			failing(c.fail)
			wantCode(t, "join of a new group", cl.join(joinRequest("g", "", static)).ErrorCode, c.want)
			if s := h.describe("g").State; s != "Dead" {
				t.Errorf("a group that could not be written is %s", s)
			}
			failing(nil)
			r := cl.join(joinRequest("g", "", static))
			failing(c.fail)
			wantCode(t, "sync", cl.sync("g", r.MemberID, 1, map[string]string{r.MemberID: "x"}).ErrorCode, c.want)
			if d := h.describe("g"); d.State != "PreparingRebalance" || len(d.Members[0].MemberAssignment) != 0 {
				t.Errorf("after a failed sync: %s, assignment %q", d.State, d.Members[0].MemberAssignment)
			}
			failing(nil)
			again := cl.join(joinRequest("g", r.MemberID, static))
			cl.sync("g", again.MemberID, again.Generation, map[string]string{again.MemberID: "x"})
			failing(c.fail)
			wantCode(t, "commit", cl.commit("g", again.MemberID, again.Generation, "topic", 0, 1, nil), c.want)
			replaced := cl.join(joinRequest("g", "", static))
			wantCode(t, "static member's restart", replaced.ErrorCode, c.want)
			wantCode(t, "its old id", cl.beat("g", again.MemberID, again.Generation), nil)
			wantCode(t, "delete offsets", h.deleteOffset("g", "topic"), kerr.GroupSubscribedToTopic)
			cl.leave("g", again.MemberID)
			wantCode(t, "delete the group", h.deleteGroup("g"), c.want)
			failing(nil)
			if p := cl.fetch("g", "topic", 0, false); p.Offset != -1 {
				t.Errorf("a commit that failed is there: %d", p.Offset)
			}
			wantCode(t, "delete the group", h.deleteGroup("g"), nil)
			h.Close()
		})
	}
}

// An assignment is given only when it is committed (GROUP-3). If the group goes on meanwhile, it is of no use.
func TestAssignmentsWaitForTheirRecord(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			c := h.client("c")
			r := c.enter("g", nil)
			h.lag(true)
			synced := make(chan *kmsg.SyncGroupResponse, 1)
			go func() { synced <- c.sync("g", r.MemberID, 1, map[string]string{r.MemberID: "all"}) }()
			synctest.Wait()
			if s := h.peek("g"); s != CompletingRebalance {
				t.Errorf("state %s before the record is committed", s)
			}
			if overtaken {
				again := c.join(joinRequest("g", r.MemberID, func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = nil }))
				if again.Generation != 2 {
					t.Errorf("generation %d, want 2", again.Generation)
				}
				wantCode(t, "sync", (<-synced).ErrorCode, kerr.RebalanceInProgress)
			}
			h.lag(false)
			synctest.Wait()
			want := Stable
			if overtaken {
				want = CompletingRebalance
			} else if s := <-synced; string(s.MemberAssignment) != "all" {
				t.Errorf("assignment %q, %s", s.MemberAssignment, codeName(s.ErrorCode))
			}
			if s := h.peek("g"); s != want {
				t.Errorf("state %s after the record is committed, want %s", s, want)
			}
			h.Close()
		})
	}
}

// peek is the state of a group, whether or not it is committed.
func (h *host) peek(group string) State {
	var s State
	h.on(group, func(m *machine) { s = m.groups[group].state })
	return s
}

// A commit that is not committed in time is answered with what makes the client ask again.
func TestCommitsTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 1)
		h.lag(true)
		start := time.Now()
		wantCode(t, "commit", h.client("c").commit("g", "", -1, "topic", 0, 1, nil), kerr.CoordinatorNotAvailable)
		if d := time.Since(start); d != coord.DefaultCommitTimeout {
			t.Errorf("answered after %v, want %v", d, coord.DefaultCommitTimeout)
		}
		h.Close()
	})
}

// Without its partition a coordinator says so; while it is read, heartbeats pass.
func TestUnavailableCoordinators(t *testing.T) {
	h := newHost(t, nil)
	h.topics.add("topic", 1)
	c := h.client("c")
	for p := range int32(hostPartitions) {
		h.Resigned(p)
	}
	check := func(what string, want, beat, fetch *kerr.Error) {
		t.Helper()
		wantCode(t, what+": join", c.join(joinRequest("g", "", nil)).ErrorCode, want)
		wantCode(t, what+": sync", c.sync("g", "m", 1, nil).ErrorCode, want)
		wantCode(t, what+": heartbeat", c.beat("g", "m", 1), beat)
		wantCode(t, what+": leave", c.leave("g", "m").ErrorCode, want)
		wantCode(t, what+": commit", c.commit("g", "", -1, "topic", 0, 1, nil), want)
		wantCode(t, what+": fetch", c.fetch("g", "topic", 0, false).ErrorCode, fetch)
		wantCode(t, what+": delete", h.deleteGroup("g"), want)
		wantCode(t, what+": describe", h.describe("g").ErrorCode, want)
	}
	check("resigned", kerr.NotCoordinator, kerr.NotCoordinator, kerr.NotCoordinator)
	if r := h.ListGroups(context.Background(), Caller{}, &kmsg.ListGroupsRequest{Version: 5}); r.ErrorCode != 0 || len(r.Groups) != 0 {
		t.Errorf("list without partitions: %s, %d groups", codeName(r.ErrorCode), len(r.Groups))
	}
	hold := make(chan struct{})
	for i, p := range h.parts {
		p.epoch++
		h.Elected(int32(i), &heldBack{led: p, hold: hold})
	}
	check("loading", kerr.CoordinatorLoadInProgress, nil, kerr.CoordinatorLoadInProgress)
	old := kmsg.NewPtrOffsetFetchRequest()
	old.Version, old.Group, old.Topics = 1, "g", []kmsg.OffsetFetchRequestTopic{{Topic: "topic", Partitions: []int32{0}}}
	wantCode(t, "fetch of version 1", h.OffsetFetch(context.Background(), Caller{}, old).Topics[0].Partitions[0].ErrorCode, kerr.CoordinatorLoadInProgress)
	wantCode(t, "list", h.ListGroups(context.Background(), Caller{}, &kmsg.ListGroupsRequest{Version: 5}).ErrorCode, kerr.CoordinatorLoadInProgress)
	close(hold)
	for i := range h.parts {
		<-h.runtime.Settled(int32(i))
	}
	wantCode(t, "join", c.join(joinRequest("g", "", nil)).ErrorCode, kerr.MemberIDRequired)
	// A topic with another number of partitions would hide groups (15.1 item 19).
	id := h.topics.ByName(OffsetsTopic)
	h.topics.remove(OffsetsTopic)
	more := *id
	more.Partitions = append(slices.Clone(id.Partitions), nil)
	h.topics.mu.Lock()
	h.topics.topics = append(h.topics.topics, &more)
	h.topics.mu.Unlock()
	check("repartitioned", kerr.CoordinatorNotAvailable, kerr.CoordinatorNotAvailable, kerr.NotCoordinator)
	h.Close()
}

// heldBack is a partition whose log can be read only later.
type heldBack struct {
	*led
	hold chan struct{}
}

func (p *heldBack) Log() *storage.Log { <-p.hold; return p.led.Log() }

// Whoever waits is answered when the coordinator goes away.
func TestResignationAnswersWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		p := newPair(h, "g")
		join := p.a.startJoin(joinRequest("g", p.ida, nil))
		q := newPair(h, "other")
		r := q.b.startJoin(joinRequest("other", q.idb, func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = nil }))
		synctest.Wait()
		gen := q.a.join(joinRequest("other", q.ida, nil)).Generation
		<-r
		sync := make(chan int16, 1)
		go func() { sync <- q.b.sync("other", q.idb, gen, nil).ErrorCode }()
		synctest.Wait()
		for i := range int32(hostPartitions) {
			h.Resigned(i)
		}
		wantCode(t, "join", (<-join).ErrorCode, kerr.NotCoordinator)
		wantCode(t, "sync", <-sync, kerr.NotCoordinator)
		synctest.Wait()
		if m := h.Metrics(); m.Groups[Stable]+m.Groups[PreparingRebalance]+m.Groups[CompletingRebalance]+m.Groups[Empty] != 0 {
			t.Errorf("groups are counted that are gone: %+v", m)
		}
		h.Close()
	})
}
