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

// pair is a stable group of two dynamic members; a leads.
type pair struct {
	h        *host
	a, b     *client
	ida, idb string
	gen      int32
}

func newPair(h *host, group string) *pair {
	p := &pair{h: h, a: h.client("a"), b: h.client("b")}
	first := p.a.enter(group, nil)
	p.a.sync(group, first.MemberID, 1, nil)
	p.ida = first.MemberID
	p.idb = p.b.join(joinRequest(group, "", nil)).MemberID
	waiting := p.b.startJoin(joinRequest(group, p.idb, nil))
	synctest.Wait()
	p.gen = p.a.join(joinRequest(group, p.ida, nil)).Generation
	<-waiting
	synced := make(chan struct{})
	go func() { p.b.sync(group, p.idb, p.gen, nil); close(synced) }()
	synctest.Wait()
	p.a.sync(group, p.ida, p.gen, map[string]string{p.ida: "A", p.idb: "B"})
	<-synced
	return p
}

// What a known member's join does depends on the state and on what it says (7.3, step 7).
func TestJoinOfKnownMembers(t *testing.T) {
	other := func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = subscription("other") }
	for _, c := range []struct {
		name       string
		leader     bool
		change     func(*kmsg.JoinGroupRequest)
		rebalances bool
	}{
		{"follower, unchanged", false, nil, false},
		{"follower, changed", false, other, true},
		{"leader, unchanged", true, nil, true},
		{"leader, changed", true, other, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, nil)
				p := newPair(h, "g")
				who, id := p.b, p.idb
				if c.leader {
					who, id = p.a, p.ida
				}
				got := who.startJoin(joinRequest("g", id, c.change))
				synctest.Wait()
				want := "Stable"
				if c.rebalances {
					want = "PreparingRebalance"
				}
				if s := h.describe("g").State; s != want {
					t.Errorf("state %s, want %s", s, want)
				}
				if !c.rebalances {
					if r := <-got; r.Generation != p.gen || r.LeaderID != p.ida {
						t.Errorf("generation %d, leader %s", r.Generation, r.LeaderID)
					}
				}
				h.Close()
			})
		})
	}
}

// While members sync, a repeated join is answered again, a changed one begins anew.
func TestJoinWhileCompleting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		c := h.client("c")
		r := c.enter("g", nil)
		again := c.join(joinRequest("g", r.MemberID, nil))
		if again.Generation != 1 || len(again.Members) != 1 || again.LeaderID != r.MemberID {
			t.Errorf("repeated join: generation %d, %d members", again.Generation, len(again.Members))
		}
		changed := c.join(joinRequest("g", r.MemberID, func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = subscription("x") }))
		if changed.Generation != 2 {
			t.Errorf("changed join: generation %d, want 2", changed.Generation)
		}
		wantCode(t, "sync of the old generation", c.sync("g", r.MemberID, 1, nil).ErrorCode, kerr.IllegalGeneration)
		h.Close()
	})
}

// A second join or sync of a member that waits takes the place of the first, which is answered (15.1 item 15).
func TestRepeatedWaitsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		p := newPair(h, "g")
		first := p.a.startJoin(joinRequest("g", p.ida, nil))
		synctest.Wait()
		second := p.a.startJoin(joinRequest("g", p.ida, nil))
		wantCode(t, "first join", (<-first).ErrorCode, kerr.RebalanceInProgress)
		p.b.join(joinRequest("g", p.idb, nil))
		if r := <-second; r.Generation != p.gen+1 {
			t.Errorf("second join: generation %d", r.Generation)
		}
		sync1 := make(chan *kmsg.SyncGroupResponse, 1)
		go func() { sync1 <- p.b.sync("g", p.idb, p.gen+1, nil) }()
		synctest.Wait()
		sync2 := make(chan *kmsg.SyncGroupResponse, 1)
		go func() { sync2 <- p.b.sync("g", p.idb, p.gen+1, nil) }()
		wantCode(t, "first sync", (<-sync1).ErrorCode, kerr.RebalanceInProgress)
		p.a.sync("g", p.ida, p.gen+1, map[string]string{p.idb: "again B"})
		if s := <-sync2; string(s.MemberAssignment) != "again B" {
			t.Errorf("second sync: %s, %q", codeName(s.ErrorCode), s.MemberAssignment)
		}
		h.Close()
	})
}

// Each member votes for the first of its protocols that all list.
func TestProtocolIsElected(t *testing.T) {
	list := func(names ...string) []protocol {
		var out []protocol
		for _, n := range names {
			out = append(out, protocol{name: n})
		}
		return out
	}
	for _, c := range []struct {
		members [][]protocol
		want    string
	}{
		{[][]protocol{list("a", "b")}, "a"},
		{[][]protocol{list("a", "b"), list("b", "a")}, "a"},
		{[][]protocol{list("a", "b"), list("b", "a"), list("b", "a")}, "b"},
		{[][]protocol{list("x", "b"), list("y", "b")}, "b"},
		{[][]protocol{list("a", "a", "b"), list("b")}, "b"},
		{[][]protocol{list("")}, ""},
	} {
		g := newClassicGroup("g", 0)
		for i, p := range c.members {
			g.add(&member{id: string(rune('A' + i)), protocolType: "t", protocols: p}, nil)
		}
		if got := g.choose(); got != c.want {
			t.Errorf("%v: %q, want %q", c.members, got, c.want)
		}
		for i := range c.members {
			g.remove(string(rune('A' + i)))
		}
		if len(g.supported) != 0 || g.leader != "" {
			t.Errorf("%v: after all have left %v, leader %q", c.members, g.supported, g.leader)
		}
	}
}

// Members that miss the end of a phase are removed, and the others go on.
func TestMembersThatAreLate(t *testing.T) {
	t.Run("join", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			p := newPair(h, "g")
			start := time.Now()
			waiting := p.a.startJoin(joinRequest("g", p.ida, nil))
			synctest.Wait()
			go func() { // b beats, and never joins
				for p.b.beat("g", p.idb, p.gen) == kerr.RebalanceInProgress.Code {
					time.Sleep(5 * time.Second)
				}
			}()
			r := <-waiting
			if d := time.Since(start); d != time.Minute || len(r.Members) != 1 {
				t.Errorf("the join phase ended after %v with %d members, want the rebalance timeout and 1", d, len(r.Members))
			}
			h.Close()
			time.Sleep(time.Minute)
		})
	})
	t.Run("sync", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			p := newPair(h, "g")
			waiting := p.b.startJoin(joinRequest("g", p.idb, func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = nil }))
			synctest.Wait()
			r := p.a.join(joinRequest("g", p.ida, nil))
			<-waiting
			start := time.Now()
			go func() {
				for p.b.beat("g", p.idb, r.Generation) == 0 {
					time.Sleep(5 * time.Second)
				}
			}()
			p.a.sync("g", p.ida, r.Generation, nil)
			for p.a.beat("g", p.ida, r.Generation) == 0 {
				time.Sleep(time.Second)
			}
			if d := time.Since(start); d != time.Minute {
				t.Errorf("a rebalance began after %v, want the rebalance timeout", d)
			}
			if n := len(h.describe("g").Members); n != 1 {
				t.Errorf("%d members, want the one that has synced", n)
			}
			h.Close()
			time.Sleep(time.Minute)
		})
	})
	t.Run("session", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			p := newPair(h, "g")
			start := time.Now()
			for p.a.beat("g", p.ida, p.gen) == 0 {
				time.Sleep(time.Second)
			}
			if d := time.Since(start); d != 30*time.Second {
				t.Errorf("a rebalance began after %v, want the session timeout of b", d)
			}
			r := p.a.join(joinRequest("g", p.ida, nil))
			if r.Generation != p.gen+1 || len(r.Members) != 1 {
				t.Errorf("generation %d with %d members", r.Generation, len(r.Members))
			}
			h.Close()
		})
	})
	t.Run("static", func(t *testing.T) { // it stays until its session ends, and is not counted on
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			a, b := h.client("a"), h.client("b")
			s := a.join(joinRequest("g", "", func(r *kmsg.JoinGroupRequest) {
				r.InstanceID = kmsg.StringPtr("i")
				r.SessionTimeoutMillis = 600_000
			}))
			a.sync("g", s.MemberID, 1, nil)
			r := b.enter("g", nil)
			if r.Generation != 2 || r.LeaderID != r.MemberID || len(r.Members) != 2 {
				t.Errorf("generation %d, %d members, leader is who joined: %v", r.Generation, len(r.Members), r.LeaderID == r.MemberID)
			}
			h.Close()
		})
	})
	t.Run("only static ones", func(t *testing.T) { // nobody is here: the phase is prolonged
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			static := func(r *kmsg.JoinGroupRequest) {
				r.InstanceID, r.SessionTimeoutMillis = kmsg.StringPtr("i"), 150_000
			}
			a, b := h.client("a"), h.client("b")
			s := a.join(joinRequest("g", "", static))
			a.sync("g", s.MemberID, 1, nil)
			id := b.join(joinRequest("g", "", nil)).MemberID
			b.startJoin(joinRequest("g", id, nil))
			synctest.Wait()
			b.leave("g", id)
			time.Sleep(100 * time.Second)
			if st := h.describe("g").State; st != "PreparingRebalance" {
				t.Errorf("state %s, want PreparingRebalance for as long as the static member may come", st)
			}
			time.Sleep(100 * time.Second)
			if st := h.describe("g").State; st != "Empty" {
				t.Errorf("state %s, want Empty after its session", st)
			}
			h.Close()
		})
	})
}

// A new member that waits is kept for five minutes, whatever its session timeout; of old clients it goes with
// its connection, because nobody knows its id.
func TestNewMembersThatWait(t *testing.T) {
	for _, c := range []struct {
		version int16
		hangUp  bool
		want    time.Duration
	}{
		{9, false, newMemberJoinTimeout},
		{9, true, newMemberJoinTimeout},
		{3, false, newMemberJoinTimeout},
		{3, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			p := newPair(h, "g")
			n := h.client("n")
			slow := func(r *kmsg.JoinGroupRequest) { r.Version, r.RebalanceTimeoutMillis = c.version, 3_600_000 }
			id := ""
			if c.version >= 4 {
				id = n.join(joinRequest("g", "", slow)).MemberID
			}
			waiting := n.startJoin(joinRequest("g", id, slow))
			synctest.Wait()
			start := time.Now()
			if c.hangUp {
				n.hangUp()
				<-waiting
				synctest.Wait()
			}
			for len(h.describe("g").Members) == 3 {
				time.Sleep(time.Second)
				wantCode(t, "heartbeat", p.a.beat("g", p.ida, p.gen), kerr.RebalanceInProgress)
				wantCode(t, "heartbeat", p.b.beat("g", p.idb, p.gen), kerr.RebalanceInProgress)
			}
			if d := time.Since(start); d != c.want {
				t.Errorf("version %d, hung up %v: it was kept for %v, want %v", c.version, c.hangUp, d, c.want)
			}
			if !c.hangUp {
				wantCode(t, "its join", (<-waiting).ErrorCode, kerr.UnknownMemberID)
			}
			h.Close()
		})
	}
}

func TestGroupMaxSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(s *Settings) { s.MaxSize = 2 })
		p := newPair(h, "g")
		third := h.client("c")
		r := third.join(joinRequest("g", "", nil))
		wantCode(t, "third member of two", r.ErrorCode, kerr.GroupMaxSizeReached)
		if r.MemberID != "" {
			t.Errorf("it was given the id %q", r.MemberID)
		}
		wantCode(t, "a member joins again", p.b.join(joinRequest("g", p.idb, nil)).ErrorCode, nil)
		// A smaller limit makes a group that is read rebalance, and turns away who comes last.
		h.change(func(s *Settings) { s.MaxSize = 1 })
		h.restart()
		if s := h.describe("g").State; s != "PreparingRebalance" {
			t.Errorf("state after the restart: %s", s)
		}
		waiting := p.a.startJoin(joinRequest("g", p.ida, nil))
		synctest.Wait()
		wantCode(t, "the second to come", p.b.join(joinRequest("g", p.idb, nil)).ErrorCode, kerr.GroupMaxSizeReached)
		time.Sleep(time.Minute)
		if r := <-waiting; r.ErrorCode != 0 || len(r.Members) != 1 {
			t.Errorf("the first to come: %s, %d members", codeName(r.ErrorCode), len(r.Members))
		}
		h.Close()
	})
}

// Offset commits keep a member's session alive.
func TestCommitsAreSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 1)
		c := h.client("c")
		r := c.enter("g", nil)
		c.sync("g", r.MemberID, 1, nil)
		for range 10 {
			time.Sleep(25 * time.Second)
			wantCode(t, "commit", c.commit("g", r.MemberID, 1, "topic", 0, 1, nil), nil)
		}
		h.Close()
	})
}

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

// Locate makes the offsets topic once, and waits until it can be used.
func TestLocateCreatesTheTopic(t *testing.T) {
	h := newHost(t, nil)
	h.topics.remove(OffsetsTopic)
	created := 0
	h.Service.o.CreateOffsetsTopic = func() error {
		created++
		h.topics.add(OffsetsTopic, hostPartitions)
		return nil
	}
	if _, err := h.partition("g"); err != coord.ErrNotCoordinator {
		t.Errorf("without the topic: %v", err)
	}
	for range 2 {
		p, err := h.Locate(context.Background(), "g")
		if err != nil || p != PartitionFor("g", hostPartitions) {
			t.Errorf("partition %d, %v", p, err)
		}
	}
	if created != 1 {
		t.Errorf("the topic was created %d times", created)
	}
}

func (h *host) deleteOffset(group, topic string) int16 {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = group
	r.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	got := h.OffsetDelete(context.Background(), Caller{}, r)
	if got.ErrorCode != 0 {
		return got.ErrorCode
	}
	return got.Topics[0].Partitions[0].ErrorCode
}
