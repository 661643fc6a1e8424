package share

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// model is a group with members that come and go, each with the epoch that it believes in.
type model struct {
	*world
	members map[string]int32
	reads   map[string][]string
	epoch   int32
}

var (
	modelMembers = []string{"a", "b", "c", "d", "e"}
	modelTopics  = []string{"x", "y", "z"}
)

func (m *model) join(t *rapid.T) {
	id := rapid.SampledFrom(modelMembers).Draw(t, "member")
	reads := rapid.SliceOfNDistinct(rapid.SampledFrom(modelTopics), 1, 3, rapid.ID[string]).Draw(t, "reads")
	b := m.mustBeat(id, Join, reads...)
	m.members[id], m.reads[id] = b.Member.Epoch, reads
	if !b.Tell {
		t.Fatal("who joins is told what it has")
	}
}

func (m *model) heartbeat(t *rapid.T) {
	id := rapid.SampledFrom(modelMembers).Draw(t, "member")
	epoch, there := m.members[id]
	if !there {
		epoch = 1
	}
	b, e := m.beat(id, epoch)
	switch {
	case there && e == nil:
		if rapid.Bool().Draw(t, "answer arrives") {
			m.members[id] = b.Member.Epoch
		} else if b, e = m.beat(id, epoch); e != nil {
			t.Fatalf("the heartbeat is sent again: %v", e)
		} else {
			m.members[id] = b.Member.Epoch
		}
	case there:
		t.Fatalf("%s at %d: %v", id, epoch, e)
	case e != kerr.UnknownMemberID:
		t.Fatalf("somebody who is not there: %v", e)
	}
}

func (m *model) goes(t *rapid.T) {
	id := rapid.SampledFrom(modelMembers).Draw(t, "member")
	if _, there := m.members[id]; there {
		m.leave(id)
		delete(m.members, id)
		delete(m.reads, id)
	}
}

func (m *model) topic(t *rapid.T) {
	name := rapid.SampledFrom(modelTopics).Draw(t, "topic")
	x := m.topics.ByName(name)
	switch n := rapid.IntRange(1, 5).Draw(t, "partitions"); {
	case x == nil:
		m.create(name, n)
	case n > len(x.Partitions):
		m.grow(name, n)
	case n == 1:
		m.drop(name)
	}
}

func (m *model) begin(t *rapid.T) {
	refuse := map[place]int16{}
	for _, req := range m.asked {
		for _, x := range req.Topics {
			for _, p := range x.Partitions {
				if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
					refuse[place{x.TopicID, p.Partition}] = kerr.CoordinatorNotAvailable.Code
				}
			}
		}
	}
	m.persist(refuse)
}

func (m *model) offsets(t *rapid.T) {
	if len(m.members) > 0 {
		return
	}
	name := rapid.SampledFrom(modelTopics).Draw(t, "topic")
	c := Begin(m.group)
	if rapid.Bool().Draw(t, "alter") {
		_, begin := c.Alter(m.view(), alterRequest(name, map[int32]int64{0: 3, 4: 5}))
		m.commit(c)
		if begin != nil {
			m.asked = append(m.asked, begin)
			m.beginning = m.beginning.Plus(InBeginning(begin))
		}
		return
	}
	req, _ := c.DeleteOffsets(m.view(), deleteRequest(name))
	m.commit(c)
	if req != nil && rapid.Bool().Draw(t, "deleted") {
		c = Begin(m.group)
		c.Deleted(map[record.UUID]struct{}{record.UUID(req.Topics[0].TopicID): {}})
		m.commit(c)
	}
}

// restart reads what compaction has left of the records, in any order; what was under way is forgotten.
func (m *model) restart(t *rapid.T) {
	last := map[string]coord.Record{}
	for _, r := range m.records {
		last[string(r.Key)] = r
	}
	m.records = nil
	for _, r := range last {
		m.records = append(m.records, r)
	}
	rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0)).Shuffle(len(m.records), func(i, j int) {
		m.records[i], m.records[j] = m.records[j], m.records[i]
	})
	g := New("g")
	for _, r := range m.records {
		if err := g.Apply(r.Key, r.Value); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := shown(g), shown(m.group); got != want {
		t.Fatalf("read again:\n got %s\nwant %s", got, want)
	}
	m.group, m.asked, m.beginning, m.refresh = g, nil, Topics{}, true
}

// check holds after every step.
func (m *model) check(t *rapid.T) {
	g := m.group
	if g.Epoch < m.epoch || g.AssignmentEpoch > g.Epoch {
		t.Fatalf("epochs: %d after %d, assignment %d", g.Epoch, m.epoch, g.AssignmentEpoch)
	}
	m.epoch = g.Epoch
	if len(g.Members) != len(m.members) || len(g.Targets) > len(g.Members) {
		t.Fatalf("members: %s", shown(g))
	}
	for id, x := range g.Members {
		for topic, partitions := range x.Assigned {
			if t1 := m.topics.ByID(topic); t1 != nil {
				if !slices.Contains(m.reads[id], t1.Name) {
					t.Fatalf("%s has a topic that it does not read: %s", id, shown(g))
				}
				for _, n := range partitions {
					if !contains(g.Partitions.Initialized[topic].Partitions, n) {
						t.Fatalf("%s has a partition without a state: %s", id, shown(g))
					}
				}
			}
		}
	}
}

// rest lets everything come to its end: then every partition of what is read is assigned, and everybody has what he shall.
func (m *model) rest(t *rapid.T) {
	for range 4 {
		m.ms += 2000
		for _, id := range modelMembers {
			if epoch, there := m.members[id]; there {
				m.members[id] = m.mustBeat(id, epoch).Member.Epoch
			}
		}
		m.persist(nil)
	}
	g := m.group
	if g.Epoch != g.AssignmentEpoch {
		t.Fatalf("not at rest: %s", shown(g))
	}
	epoch := g.Epoch
	for id, e := range m.members {
		if b := m.mustBeat(id, e); b.Tell || b.Begin != nil || b.Member.Epoch != epoch {
			t.Fatalf("%s is not at rest: %s", id, shown(g))
		}
	}
	got, want := Topics{}, Topics{}
	for id, x := range g.Members {
		for topic, partitions := range x.Assigned {
			got.add(topic, "", partitions...)
		}
		for _, name := range m.reads[id] {
			if t := m.topics.ByName(name); t != nil {
				want.add(t.ID, "", allOf(len(t.Partitions))...)
			}
		}
	}
	if !got.equal(want) {
		t.Fatalf("assigned %v of %v: %s", got, want, shown(g))
	}
}

// Whatever happens, in whatever order: what is written can be read again and leads to the same group, epochs only grow,
// nobody has what he does not read or what has no state, and in the end everything is assigned.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{world: newWorld(t), members: map[string]int32{}, reads: map[string][]string{}}
		m.rules.AssignmentInterval = time.Second
		t.Repeat(map[string]func(*rapid.T){
			"join": m.join, "heartbeat": m.heartbeat, "beat": m.heartbeat, "leave": m.goes, "topic": m.topic, "begin": m.begin,
			"offsets": m.offsets, "restart": m.restart, "rest": m.rest,
			"wait": func(t *rapid.T) { m.ms += rapid.Int64Range(0, 1500).Draw(t, "ms") },
			"":     m.check,
		})
		m.rest(t)
	})
}

// Records of share groups that cannot be read are errors, no panics.
func FuzzApply(f *testing.F) {
	w := newWorld(f)
	w.create("t", 2)
	w.mustBeat("m", Join, "t")
	w.persist(nil)
	w.mustBeat("m", 2)
	for _, r := range w.records {
		f.Add(r.Key, r.Value)
	}
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		g := New("g")
		if err := g.Apply(key, value); err == nil && len(key) >= 2 {
			if n := binary.BigEndian.Uint16(key); n < typeMember || n > typePartitions {
				t.Errorf("a record of type %d is taken", n)
			}
			_ = fmt.Sprint(shown(g))
			_ = g.Tombstones()
		}
	})
}
