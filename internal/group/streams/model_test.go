package streams

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/modern"
)

// peer is a client of a group: it runs what it was told, and gives up at once what it is to give up.
type peer struct {
	id, process string
	instance    *string
	epoch       int32
	owned       Assignment
	away        bool
}

// world is a group with its clients, its topics and the log of its records.
type world struct {
	t        *rapid.T
	group    *Group
	live     *Live
	log      []coord.Record
	sizes    map[string]int
	nowMs    int64
	standbys int
	peers    map[string]*peer
	names    int
}

// theTopology reads words, counts them after a repartition, and has a second, stateless part.
func theTopology() *kmsg.StreamsGroupHeartbeatRequestTopology {
	first, second := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology(), kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
	first.SubtopologyID, first.SourceTopics, first.RepartitionSinkTopics = "0", []string{"words"}, []string{"by-word"}
	second.SubtopologyID = "1"
	second.RepartitionSourceTopics = []kmsg.TopicInfo{{Topic: "by-word"}}
	second.StateChangelogTopics = []kmsg.TopicInfo{{Topic: "counts"}}
	return &kmsg.StreamsGroupHeartbeatRequestTopology{Epoch: 1, Subtopologies: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{first, second}}
}

func newWorld(t *rapid.T) *world {
	return &world{t: t, group: New("g"), live: NewLive(), peers: map[string]*peer{}, sizes: map[string]int{"words": 3}, nowMs: 1_000_000}
}

func (w *world) commit(c *Change) {
	for _, r := range c.Records {
		if err := w.group.Apply(r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	w.live.Follow(w.group)
	w.log = append(w.log, c.Records...)
	w.check()
}

func (w *world) now() Now {
	return Now{View: topics(w.sizes), Ms: w.nowMs, Refresh: true, Rules: Rules{MaxSize: 100, AssignmentInterval: time.Second, Standbys: w.standbys}}
}

// request is the full heartbeat of a client.
func (p *peer) request() *kmsg.StreamsGroupHeartbeatRequest {
	req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
	req.Version, req.MemberID, req.MemberEpoch, req.InstanceID, req.ProcessID = 1, p.id, p.epoch, p.instance, &p.process
	req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = p.owned.Tasks(Active), p.owned.Tasks(Standby), p.owned.Tasks(Warmup)
	if p.epoch == modern.Join {
		req.RebalanceTimeoutMillis, req.Topology = 1000, theTopology()
	}
	return req
}

// beat sends a heartbeat of a client and takes its answer in; lost tells that the answer does not arrive.
func (w *world) beat(p *peer, lost bool) {
	c := Begin(w.group)
	got, e := c.Heartbeat(w.now(), w.live, p.request())
	switch e {
	case kerr.FencedMemberEpoch, kerr.InvalidRequest: // it has missed too much, or its tasks are no more: it joins again with nothing
		p.epoch, p.owned = modern.Join, Assignment{}
		return
	case kerr.UnreleasedInstanceID: // it goes on trying until the session of who has its place is over
		c := Begin(w.group)
		c.Remove(w.group.Static(*p.instance))
		w.commit(c)
		return
	}
	if e != nil {
		w.t.Fatalf("heartbeat of %s: %v", p.id, e)
	}
	w.commit(c)
	for _, t := range got.Missing {
		w.sizes[t.Name] = int(t.Partitions)
	}
	if lost {
		return
	}
	p.epoch = got.Member.Epoch
	if got.Tell {
		p.owned = got.Member.Assigned.undated()
	}
}

// check tests what holds at any time: a task runs in one place, a process has it in one role but for a member that
// changes roles (STREAMS-2), and the epochs are in order.
func (w *world) check() {
	runs, roles := map[task]string{}, map[holder]map[string]bool{}
	for id, m := range w.group.Members {
		for _, a := range []Assignment{m.Assigned, m.Revoking} {
			for s := range a {
				if other := runs[s.task]; s.Role == Active && other != "" && other != id {
					w.t.Fatalf("%v runs at %s and %s", s.task, id, other)
				} else if s.Role == Active {
					runs[s.task] = id
				}
				h := holder{s.task, m.ProcessID}
				if roles[h] == nil {
					roles[h] = map[string]bool{}
				}
				roles[h][id] = true
			}
		}
		if m.Epoch > w.group.AssignmentEpoch || w.group.AssignmentEpoch > w.group.Epoch {
			w.t.Fatalf("member %d, assignment %d, group %d", m.Epoch, w.group.AssignmentEpoch, w.group.Epoch)
		}
	}
	for h, members := range roles {
		if len(members) > 1 {
			w.t.Fatalf("%v is held by %v", h, slices.Sorted(maps.Keys(members)))
		}
	}
	clients := map[task]string{}
	for id, p := range w.peers {
		for s := range p.owned {
			if other := clients[s.task]; s.Role == Active && !p.away && other != "" {
				w.t.Fatalf("%v is run by the clients %s and %s", s.task, id, other)
			} else if s.Role == Active && !p.away {
				clients[s.task] = id
			}
		}
	}
}

func (w *world) pick() *peer {
	if len(w.peers) == 0 {
		return nil
	}
	return w.peers[rapid.SampledFrom(slices.Sorted(maps.Keys(w.peers))).Draw(w.t, "who")]
}

func (w *world) join(*rapid.T) {
	if len(w.peers) == 5 {
		return
	}
	w.names++
	p := &peer{id: fmt.Sprint("m", w.names), process: rapid.SampledFrom([]string{"p", "q", "r"}).Draw(w.t, "process"), owned: Assignment{}}
	if rapid.Bool().Draw(w.t, "static") {
		instance := fmt.Sprint("i", w.names)
		p.instance = &instance
	}
	w.peers[p.id] = p
	w.beat(p, rapid.Bool().Draw(w.t, "lost"))
}

// leave has a client go; a static one for a while, after which it comes back under another id.
func (w *world) leave(*rapid.T) {
	p := w.pick()
	if p == nil {
		return
	}
	m := w.group.Members[p.id]
	c := Begin(w.group)
	switch {
	case p.instance != nil && m != nil && rapid.Bool().Draw(w.t, "for a while"):
		c.Away(m)
		delete(w.peers, p.id)
		w.names++
		next := &peer{id: fmt.Sprint("m", w.names), process: p.process, instance: p.instance, owned: Assignment{}, away: true}
		w.peers[next.id] = next
	case m != nil:
		c.Remove(m)
		delete(w.peers, p.id)
	default:
		delete(w.peers, p.id)
	}
	w.commit(c)
}

// settle has all clients beat until nothing changes any more. Of members that nobody speaks for the session ends.
func (w *world) settle() {
	instances := map[string]bool{}
	for _, p := range w.peers {
		if p.instance != nil {
			instances[*p.instance] = true
		}
	}
	for _, m := range w.group.InOrder() {
		if w.peers[m.ID] == nil && (m.InstanceID == nil || !instances[*m.InstanceID]) {
			c := Begin(w.group)
			c.Remove(m)
			w.commit(c)
		}
	}
	for range 12 {
		w.nowMs += 1000
		for _, id := range slices.Sorted(maps.Keys(w.peers)) {
			w.peers[id].away = false
			w.beat(w.peers[id], false)
		}
	}
}

// A group ends, whatever has happened, with every task running once and all members at the last assignment; its records
// say the same as its state; and a heartbeat that is sent again changes nothing (STREAMS-5).
func TestGroupsSettle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"join": w.join, "leave": w.leave,
			"beat": func(*rapid.T) {
				if p := w.pick(); p != nil {
					p.away = false
					w.beat(p, rapid.IntRange(0, 3).Draw(rt, "lost") == 0)
				}
			},
			"time":     func(*rapid.T) { w.nowMs += int64(rapid.IntRange(1, 1500).Draw(rt, "ms")) },
			"standbys": func(*rapid.T) { w.standbys = rapid.IntRange(0, 2).Draw(rt, "standbys") },
			"sources": func(*rapid.T) { // also a topic that is deleted and comes again
				w.sizes = map[string]int{}
				if n := rapid.IntRange(0, 4).Draw(rt, "partitions"); n > 0 {
					w.sizes["words"] = n
				}
			},
		})
		w.sizes = map[string]int{"words": 4}
		w.settle()
		if len(w.peers) == 0 {
			return
		}
		if s := w.group.State(); s != "Stable" {
			for _, m := range w.group.InOrder() {
				rt.Logf("member %+v", *m)
			}
			rt.Fatalf("the group is %s: %+v", s, w.group)
		}
		if len(w.group.runs) != 8 {
			rt.Fatalf("running: %v", w.group.runs)
		}
		again := New("g")
		for _, r := range w.log {
			if err := again.Apply(r.Key, r.Value); err != nil {
				rt.Fatal(err)
			}
		}
		if !reflect.DeepEqual(again, w.group) {
			rt.Fatalf("replayed:\n%+v\nwant\n%+v", again, w.group)
		}
		before := len(w.log)
		for _, id := range slices.Sorted(maps.Keys(w.peers)) {
			w.beat(w.peers[id], true)
		}
		if len(w.log) != before {
			rt.Fatalf("a heartbeat of a settled group writes: %v", w.log[before:])
		}
	})
}
