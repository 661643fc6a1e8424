package group

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
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
