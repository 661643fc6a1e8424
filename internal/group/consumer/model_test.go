package consumer

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// peer is a client of a group: it reads what it was told, and gives up at once what it is to give up.
type peer struct {
	id       string
	instance *string
	epoch    int32
	owned    map[record.UUID][]int32
	topics   []string
	regex    string
}

// world is a group with its clients, and the log of its records.
type world struct {
	t     *rapid.T
	group *Group
	log   []coord.Record
	view  View
	nowMs int64
	peers map[string]*peer
	names int
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, group: New("g"), peers: map[string]*peer{}, nowMs: 1_000_000}
	w.setTopics(2, 3)
	return w
}

// setTopics makes topics t0, t1, … with so many partitions.
func (w *world) setTopics(partitions ...int) {
	var topics table
	for i, n := range partitions {
		topics = append(topics, &metadata.Topic{Name: fmt.Sprint("t", i), ID: record.UUID{byte(i + 1)}, Partitions: make([]*metadata.Partition, n)})
	}
	w.view = View{Topics: topics}
}

func (w *world) commit(c *Change) {
	for _, r := range c.Records {
		if err := w.group.Apply(r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	w.log = append(w.log, c.Records...)
	w.check()
}

func (w *world) now() Now {
	return Now{View: w.view, Ms: w.nowMs, Refresh: true, Rules: Rules{MaxSize: 100, Assignors: []string{"uniform", "range"}, AssignmentInterval: time.Second}}
}

// beat sends a full heartbeat of a client and takes its answer in; lost tells that the answer does not arrive.
func (w *world) beat(p *peer, lost bool) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.MemberID, req.MemberEpoch, req.InstanceID = 1, p.id, p.epoch, p.instance
	req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.SubscribedTopicRegex = 1000, p.topics, &p.regex
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for id, ps := range p.owned {
		req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: id, Partitions: ps})
	}
	c := Begin(w.group)
	got, e := c.Heartbeat(w.now(), p.id, req)
	if e == kerr.FencedMemberEpoch { // it has missed too much: it joins again with nothing
		p.epoch, p.owned = modern.Join, map[record.UUID][]int32{}
		return
	}
	if e != nil {
		w.t.Fatalf("heartbeat of %s: %v", p.id, e)
	}
	w.commit(c)
	if lost {
		return
	}
	if !got.Tell {
		w.t.Fatal("a full heartbeat is not answered in full")
	}
	p.epoch, p.owned = got.Member.Epoch, map[record.UUID][]int32{}
	got.Member.Assigned.Topics(func(id record.UUID, ps []int32) { p.owned[id] = ps })
}

// check tests what holds at any time: nobody reads what another reads (CONSUMER-2), and the epochs are in order.
func (w *world) check() {
	seen := map[place]string{}
	for id, m := range w.group.Members {
		for _, held := range []Partitions{m.Assigned, m.Revoking} {
			held.each(func(t record.UUID, x, _ int32) {
				if other := seen[place{t, x}]; other != "" {
					w.t.Fatalf("%v-%d is held by %s and %s", t, x, id, other)
				}
				seen[place{t, x}] = id
			})
		}
		if m.Epoch > w.group.AssignmentEpoch || w.group.AssignmentEpoch > w.group.Epoch {
			w.t.Fatalf("member %d, assignment %d, group %d", m.Epoch, w.group.AssignmentEpoch, w.group.Epoch)
		}
	}
	clients := map[place]string{}
	for id, p := range w.peers {
		for t, xs := range p.owned {
			for _, x := range xs {
				if other := clients[place{t, x}]; other != "" {
					w.t.Fatalf("%v-%d is read by %s and %s", t, x, id, other)
				}
				clients[place{t, x}] = id
			}
		}
	}
}

func (w *world) pick() *peer {
	if len(w.peers) == 0 {
		return nil
	}
	return w.peers[rapid.SampledFrom(sortedKeys(w.peers)).Draw(w.t, "who")]
}

func (w *world) join(*rapid.T) {
	if len(w.peers) == 5 {
		return
	}
	w.names++
	p := &peer{id: fmt.Sprint("m", w.names), owned: map[record.UUID][]int32{}}
	p.topics = rapid.SampledFrom([][]string{{"t0"}, {"t0", "t1"}, {"t1", "gone"}, {}}).Draw(w.t, "topics")
	p.regex = rapid.SampledFrom([]string{"", "", "t[12]", "t.*"}).Draw(w.t, "regex")
	w.peers[p.id] = p
	w.beat(p, rapid.Bool().Draw(w.t, "lost"))
}

func (w *world) leave(*rapid.T) {
	if p := w.pick(); p != nil {
		delete(w.peers, p.id)
		if m := w.group.Members[p.id]; m != nil {
			c := Begin(w.group)
			c.Remove(w.view, m)
			w.commit(c)
		}
	}
}

func (w *world) subscribe(*rapid.T) {
	if p := w.pick(); p != nil {
		p.topics = rapid.SampledFrom([][]string{{"t0"}, {"t1"}, {"t0", "t1"}, {"t2"}}).Draw(w.t, "topics")
	}
}

// A group ends, whatever has happened, with every partition that somebody subscribes to owned once and all members at
// the last assignment; and its records say the same as its state.
func TestGroupsSettle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"join": w.join, "leave": w.leave, "subscribe": w.subscribe,
			"beat": func(*rapid.T) {
				if p := w.pick(); p != nil {
					w.beat(p, rapid.IntRange(0, 3).Draw(rt, "lost") == 0)
				}
			},
			"time": func(*rapid.T) { w.nowMs += int64(rapid.IntRange(1, 1500).Draw(rt, "ms")) },
			"grow": func(*rapid.T) {
				w.setTopics(rapid.IntRange(2, 4).Draw(rt, "t0"), rapid.IntRange(3, 5).Draw(rt, "t1"), rapid.IntRange(0, 3).Draw(rt, "t2"))
			},
			"resolve": func(*rapid.T) { c := Begin(w.group); c.Resolve(w.view, w.nowMs); w.commit(c) },
		})
		for range 12 {
			w.nowMs += 1000
			c := Begin(w.group)
			c.Resolve(w.view, w.nowMs)
			w.commit(c)
			for _, id := range sortedKeys(w.peers) {
				w.beat(w.peers[id], false)
			}
		}
		if len(w.peers) == 0 {
			return
		}
		if s := w.group.State(); s != "Stable" {
			rt.Fatalf("the group is %s: %+v", s, w.group)
		}
		for name := range w.group.subscribed() {
			topic := w.view.Topic(name)
			if topic == nil {
				continue
			}
			for x := range topic.Partitions {
				if _, held := w.group.owners[place{topic.ID, int32(x)}]; !held {
					rt.Fatalf("nobody reads %s-%d", name, x)
				}
			}
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
		// A heartbeat that is sent again changes nothing (G-04).
		before := len(w.log)
		for _, id := range sortedKeys(w.peers) {
			w.beat(w.peers[id], true)
		}
		if len(w.log) != before {
			rt.Fatalf("a heartbeat of a settled group writes: %v", w.log[before:])
		}
	})
}
