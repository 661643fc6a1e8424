package group

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/stored"
)

// What went wrong for people with other brokers, by the ids under which we keep those reports. All of it runs
// in virtual time.

// G-01: a client asks for a member id and hangs up. The next one must not wait for it.
func TestG01IdsOfClientsThatHungUpDoNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		first := h.client("c")
		stable := first.enter("g", nil)
		first.sync("g", stable.MemberID, 1, nil)

		ghost := h.client("ghost")
		r := ghost.join(joinRequest("g", "", nil))
		wantCode(t, "first join", r.ErrorCode, kerr.MemberIDRequired)
		synctest.Wait()
		ghost.hangUp()
		synctest.Wait()

		start := time.Now()
		second := h.client("c")
		id := second.join(joinRequest("g", "", nil)).MemberID
		waiting := second.startJoin(joinRequest("g", id, nil))
		synctest.Wait()
		wantCode(t, "first member's heartbeat", first.beat("g", stable.MemberID, 1), kerr.RebalanceInProgress)
		again := first.startJoin(joinRequest("g", stable.MemberID, nil))
		if got := <-waiting; got.ErrorCode != 0 || got.Generation != 2 {
			t.Errorf("second client: code %s, generation %d", codeName(got.ErrorCode), got.Generation)
		}
		<-again
		if d := time.Since(start); d >= 3*time.Second {
			t.Errorf("the second client waited %v for an id that nobody will bring back", d)
		}
		wantCode(t, "join with the id that was given up", h.client("ghost").join(joinRequest("g", r.MemberID, nil)).ErrorCode, kerr.UnknownMemberID)
		h.Close()
	})
}

// G-01, without news of the connection: the id holds the join phase up until its session ends, as in Kafka.
func TestG01IdsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		a, b := h.client("a"), h.client("b")
		a.caller.Gone = nil
		a.join(joinRequest("g", "", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 10_000 }))
		first := b.enter("g", nil)
		b.sync("g", first.MemberID, 1, nil)
		start := time.Now()
		again := b.join(joinRequest("g", first.MemberID, nil))
		if d := time.Since(start); d != 10*time.Second || again.Generation != 2 {
			t.Errorf("generation %d after %v, want 2 after the 10 s session of the id that was not used", again.Generation, d)
		}
		h.Close()
	})
}

// G-02: a static member restarts. Its group does not rebalance, also not twice, and nobody is fenced but the
// incarnation of before.
func TestG02StaticMemberRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		static := func(r *kmsg.JoinGroupRequest) { r.InstanceID = kmsg.StringPtr("i1") }
		a := h.client("a")
		first := a.join(joinRequest("g", "", static))
		a.sync("g", first.MemberID, 1, map[string]string{first.MemberID: "all"})
		for range 5 {
			before := len(h.records("g"))
			again := a.join(joinRequest("g", "", static))
			if again.ErrorCode != 0 || again.Generation != 1 || !again.SkipAssignment || again.MemberID == first.MemberID {
				t.Fatalf("restart: %s, generation %d, skip assignment %v", codeName(again.ErrorCode), again.Generation, again.SkipAssignment)
			}
			if s := h.describe("g").State; s != "Stable" {
				t.Fatalf("state after the restart: %s", s)
			}
			if got := a.sync("g", again.MemberID, 1, nil); string(got.MemberAssignment) != "all" {
				t.Errorf("assignment after the restart: %q", got.MemberAssignment)
			}
			wantCode(t, "heartbeat of the new incarnation", a.beat("g", again.MemberID, 1), nil)
			wantCode(t, "heartbeat of the old one", a.beat("g", first.MemberID, 1), kerr.UnknownMemberID)
			if n := len(h.records("g")) - before; n != 1 {
				t.Errorf("%d records were written, want 1 with the new id", n)
			}
			first = again
		}
		h.restart()
		if got := a.sync("g", first.MemberID, 1, nil); got.ErrorCode != 0 || string(got.MemberAssignment) != "all" {
			t.Errorf("after the coordinator's restart: %s, %q", codeName(got.ErrorCode), got.MemberAssignment)
		}
		h.Close()
	})
}

// G-02: it restarts while the others join: its place in the join phase is kept, there is one generation.
func TestG02StaticMemberRestartsInsideARebalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		static := func(r *kmsg.JoinGroupRequest) { r.InstanceID = kmsg.StringPtr("i1") }
		a, b := h.client("a"), h.client("b")
		first := a.join(joinRequest("g", "", static))
		a.sync("g", first.MemberID, 1, nil)
		id := b.join(joinRequest("g", "", nil)).MemberID
		waiting := b.startJoin(joinRequest("g", id, nil))
		synctest.Wait()
		old := a.startJoin(joinRequest("g", first.MemberID, func(r *kmsg.JoinGroupRequest) {
			static(r)
			r.Protocols[0].Metadata = subscription("topic", "more")
		}))
		// Both wait already, so the generation has begun; the restart comes into the sync phase.
		got := <-old
		<-waiting
		again := a.startJoin(joinRequest("g", "", static))
		synctest.Wait()
		wantCode(t, "sync of the others", b.sync("g", id, got.Generation, nil).ErrorCode, kerr.RebalanceInProgress)
		third := b.startJoin(joinRequest("g", id, nil))
		if r := <-again; r.ErrorCode != 0 || r.Generation != got.Generation+1 {
			t.Errorf("restart: %s, generation %d, want %d", codeName(r.ErrorCode), r.Generation, got.Generation+1)
		}
		<-third
		h.Close()
	})
}

// G-03: the text that is committed with an offset comes back, after a restart too. A null is stored as "", as
// Kafka does; more than 4096 characters are refused.
func TestG03CommitMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 10)
		c := h.client("c")
		texts := []string{"note", "", strings.Repeat("x", 4096), strings.Repeat("ä", 4096), strings.Repeat("😀", 2048), "null"}
		for i, text := range texts {
			wantCode(t, "commit", c.commit("g", "", -1, "topic", int32(i), int64(i), func(r *kmsg.OffsetCommitRequest) {
				if text != "null" {
					r.Topics[0].Partitions[0].Metadata = kmsg.StringPtr(text)
				}
			}), nil)
		}
		texts[len(texts)-1] = ""
		for range 2 {
			for i, text := range texts {
				p := c.fetch("g", "topic", int32(i), false)
				if p.Offset != int64(i) || p.Metadata == nil || *p.Metadata != text {
					t.Errorf("partition %d: offset %d, text %.20v of %d", i, p.Offset, p.Metadata, len(text))
				}
			}
			h.restart()
		}
		for i, text := range []string{strings.Repeat("x", 4097), strings.Repeat("😀", 2049)} {
			wantCode(t, "too long a text", c.commit("g", "", -1, "topic", int32(i), 99, func(r *kmsg.OffsetCommitRequest) {
				r.Topics[0].Partitions[0].Metadata = kmsg.StringPtr(text)
			}), kerr.OffsetMetadataTooLarge)
			if p := c.fetch("g", "topic", int32(i), false); p.Offset != int64(i) {
				t.Errorf("a commit that was refused has changed the offset to %d", p.Offset)
			}
		}
		h.Close()
	})
}

// G-05: fifty members join at once, then some leave. Each storm settles in one or two generations, nobody is
// told UNKNOWN_MEMBER_ID, and every partition is owned once.
func TestG05ManyMembersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(s *Settings) { s.InitialRebalanceDelay = 3 * time.Second })
		const partitions = 120
		w := &consumers{h: h, partitions: partitions}
		for range 50 {
			w.start()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.check(t, 50)
		if g := w.generation(); g > 2 {
			t.Errorf("generation %d after 50 joins at once, want 1 or 2", g)
		}
		before := w.generation()
		for _, c := range w.running()[:20] {
			c.stop()
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.check(t, 30)
		if g := w.generation(); g-before > 20 {
			t.Errorf("%d rebalances after 20 members left", g-before)
		}
		if len(w.unknown) > 0 {
			t.Errorf("members that stayed were told UNKNOWN_MEMBER_ID: %v", w.unknown)
		}
		for _, c := range w.running() {
			c.stop()
		}
		synctest.Wait()
		if d := h.describe("g"); d.State != "Empty" || len(d.Members) != 0 {
			t.Errorf("after all have left: %s with %d members", d.State, len(d.Members))
		}
		h.Close()
	})
}

// G-06: tools that read __readeroffsets find the record types and versions that Apache Kafka 4.4 writes, and
// keys without a value where something was removed.
func TestG06RecordsAreThoseOfKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		id := h.topics.add("topic", 2)
		c := h.client("kgo")
		r := c.enter("g", nil)
		c.sync("g", r.MemberID, 1, map[string]string{r.MemberID: "assigned"})
		c.commit("g", r.MemberID, 1, "topic", 1, 7, func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions[0].LeaderEpoch = 3 })
		c.commit("old", "", -1, "topic", 0, 8, func(r *kmsg.OffsetCommitRequest) { r.Version, r.RetentionTimeMillis = 4, 1000 })
		c.leave("g", r.MemberID)
		wantCode(t, "delete", h.deleteGroup("g"), nil)
		now := time.Now().UnixMilli()
		want := []string{
			fmt.Sprintf(`{"group":"g"} v3 {"protocolType":"","generation":0,"protocol":null,"leader":null,"currentStateTimestamp":%d,"members":[]}`, now),
			fmt.Sprintf(`{"group":"g"} v3 {"protocolType":"consumer","generation":1,"protocol":"range","leader":"ID","currentStateTimestamp":%d,"members":[{"memberId":"ID","groupInstanceId":null,"clientId":"kgo","clientHost":"/127.0.0.1","rebalanceTimeout":60000,"sessionTimeout":30000,"subscription":"AAAAAAABAAV0b3BpY/////8=","assignment":"YXNzaWduZWQ="}]}`, now),
			fmt.Sprintf(`{"group":"g","topic":"topic","partition":1} v4 {"offset":7,"leaderEpoch":3,"metadata":"","commitTimestamp":%d,"topicId":"%s"}`, now, id),
			fmt.Sprintf(`{"group":"g"} v3 {"protocolType":"consumer","generation":2,"protocol":null,"leader":null,"currentStateTimestamp":%d,"members":[]}`, now),
			`{"group":"g","topic":"topic","partition":1} removed`,
			`{"group":"g"} removed`,
		}
		if got := h.shown(t, "g", r.MemberID); !slices.Equal(got, want) {
			t.Errorf("records of the group:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		old := fmt.Sprintf(`{"group":"old","topic":"topic","partition":0} v1 {"offset":8,"metadata":"","commitTimestamp":%d,"expireTimestamp":%d}`, now, now+1000)
		if got := h.shown(t, "old", ""); !slices.Contains(got, old) {
			t.Errorf("a commit with a retention time:\n%s\nwant\n%s", strings.Join(got, "\n"), old)
		}
		h.Close()
	})
}

// shown are the records of a group's partition as Kafka's dump tool shows them, one group's only.
func (h *host) shown(t *testing.T, group, id string) []string {
	var out []string
	for _, r := range h.records(group) {
		if _, g, _ := keyOf(r.Key); g != group {
			continue
		}
		key, err := stored.DecodeKey(r.Key, stored.NewGroupKey)
		if err != nil {
			t.Fatal(err)
		}
		line := string(key.AppendJSON(nil, 0))
		if r.Value == nil {
			line += " removed"
		} else {
			v, version, err := stored.DecodeValue(r.Value, int16(binary.BigEndian.Uint16(r.Key)), stored.NewGroupValue)
			if err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf(" v%d %s", version, v.AppendJSON(nil, version))
		}
		if id != "" {
			line = strings.ReplaceAll(line, id, "ID")
		}
		out = append(out, line)
	}
	return out
}

// T-14: offsets of a group that is alive stay, however old; an empty group's count from when it became empty; of
// consumers in no group from their commit.
func TestT14OffsetsExpireWhenNobodyNeedsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(s *Settings) { s.OffsetsRetention = 24 * time.Hour })
		h.topics.add("topic", 2)
		h.topics.add("left", 1)
		c := h.client("c")
		r := c.enter("alive", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1_800_000 })
		c.sync("alive", r.MemberID, 1, nil)
		wantCode(t, "commit", c.commit("alive", r.MemberID, 1, "topic", 0, 5, nil), nil)
		wantCode(t, "commit", c.commit("alive", r.MemberID, 1, "left", 0, 5, nil), nil)
		wantCode(t, "commit", c.commit("simple", "", -1, "topic", 0, 6, nil), nil)
		wantCode(t, "commit", c.commit("asked", "", -1, "topic", 0, 7, func(r *kmsg.OffsetCommitRequest) {
			r.Version, r.RetentionTimeMillis = 3, (72 * time.Hour).Milliseconds()
		}), nil)
		offset := func(group, topic string) int64 { return c.fetch(group, topic, 0, false).Offset }
		live := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Minute) {
				wantCode(t, "heartbeat", c.beat("alive", r.MemberID, 1), nil)
			}
		}
		live(23 * time.Hour)
		if offset("simple", "topic") != 6 || offset("alive", "left") != 5 {
			t.Error("an offset was removed before its time")
		}
		live(2 * time.Hour)
		if offset("simple", "topic") != -1 || h.describe("simple").State != "Dead" {
			t.Error("a simple group's offset is kept beyond the retention")
		}
		if offset("alive", "left") != -1 {
			t.Error("the offset of a topic that no member reads is kept beyond the retention")
		}
		if offset("alive", "topic") != 5 || offset("asked", "topic") != 7 {
			t.Error("an offset that is needed, or whose own time is not over, was removed")
		}
		live(23 * time.Hour)
		c.leave("alive", r.MemberID)
		time.Sleep(23*time.Hour + 40*time.Minute)
		if offset("alive", "topic") != 5 {
			t.Error("the offset of an empty group was counted from its commit, not from when the group became empty")
		}
		h.restart()
		time.Sleep(time.Hour)
		if offset("alive", "topic") != -1 || h.describe("alive").State != "Dead" {
			t.Error("an empty group is kept beyond the retention")
		}
		if offset("asked", "topic") != -1 {
			t.Error("an offset is kept beyond the time that its client asked for")
		}
		if m := h.Metrics(); m.Offsets != 0 || m.OffsetExpirations != 4 || m.Groups[Empty] != 0 {
			t.Errorf("metrics %+v, want no offsets, 4 expirations, no groups", m)
		}
		h.Close()
	})
}

// G-12: without the initial delay a group is usable at once; with it the first members wait for it, longer when
// others come, no longer than the rebalance timeout.
func TestG12InitialRebalanceDelay(t *testing.T) {
	for _, c := range []struct {
		delay, every time.Duration
		want         time.Duration
	}{
		{0, 0, 0},
		{3 * time.Second, 0, 3 * time.Second},
		{3 * time.Second, 2 * time.Second, 12 * time.Second},
		{3 * time.Second, 29 * 100 * time.Millisecond, 12 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, func(s *Settings) { s.InitialRebalanceDelay = c.delay })
			start := time.Now()
			change := func(r *kmsg.JoinGroupRequest) { r.RebalanceTimeoutMillis = 12_000; r.Version = 3 }
			first := h.client("c").startJoin(joinRequest("g", "", change))
			done := make(chan struct{})
			others := 0
			if c.every > 0 {
				go func() {
					defer close(done)
					for time.Since(start) < 11*time.Second {
						time.Sleep(c.every)
						h.client("c").startJoin(joinRequest("g", "", change))
						others++
					}
				}()
			} else {
				close(done)
			}
			r := <-first
			if d := time.Since(start); d != c.want || r.ErrorCode != 0 {
				t.Errorf("delay %v, others every %v: %s after %v, want %v", c.delay, c.every, codeName(r.ErrorCode), d, c.want)
			}
			<-done
			h.Close()
			synctest.Wait()
		})
	}
}

// Offsets of a topic go with it, in all groups and in transactions too.
func TestOffsetsGoWithTheirTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		h.topics.add("topic", 2)
		h.topics.add("other", 1)
		c := h.client("c")
		groups := []string{"g1", "g2", "g3", "g4"}
		for _, g := range groups {
			c.commit(g, "", -1, "topic", 0, 1, nil)
			c.commit(g, "", -1, "topic", 1, 1, nil)
			c.commit(g, "", -1, "other", 0, 2, nil)
		}
		h.deleteTopic("topic")
		synctest.Wait()
		for range 2 {
			for _, g := range groups {
				if p := c.fetch(g, "topic", 0, false); p.Offset != -1 {
					t.Errorf("%s: offset %d of a deleted topic", g, p.Offset)
				}
				if p := c.fetch(g, "other", 0, false); p.Offset != 2 {
					t.Errorf("%s: offset %d of another topic, want 2", g, p.Offset)
				}
			}
			h.restart()
		}
		// An offset that outlived its topic is not taken for one of the next topic of that name.
		h.on("g1", func(m *machine) {
			m.offsets.stable.put("g1", "again", 0, committed{offset: 9, topicID: [16]byte{1, 2, 3}})
		})
		h.topics.add("again", 1)
		if p := c.fetch("g1", "again", 0, false); p.Offset != -1 {
			t.Errorf("offset %d of an earlier topic of the same name", p.Offset)
		}
		h.Close()
	})
}

// deleteTopic takes a topic out of the metadata and says so.
func (h *host) deleteTopic(name string) {
	h.topics.remove(name)
	h.topicsDeleted([]string{name}, nil)
}
