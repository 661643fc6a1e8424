package share

import (
	"fmt"
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// table is the metadata of a test.
type table []*metadata.Topic

func (t table) find(f func(*metadata.Topic) bool) *metadata.Topic {
	if i := slices.IndexFunc(t, f); i >= 0 {
		return t[i]
	}
	return nil
}

func (t table) ByName(name string) *metadata.Topic {
	return t.find(func(x *metadata.Topic) bool { return x.Name == name })
}

func (t table) ByID(id record.UUID) *metadata.Topic {
	return t.find(func(x *metadata.Topic) bool { return x.ID == id })
}

func (t table) All() iter.Seq[*metadata.Topic] { return slices.Values(t) }

// fataler is what both kinds of tests have.
type fataler interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// world is a group with the topics that there are, the time, and what the share coordinator was asked for.
type world struct {
	t      fataler
	group  *Group
	topics table
	made   byte
	ms     int64
	rules  Rules
	// refresh is set when topics have changed since the last heartbeat.
	refresh bool
	// asked waits to be begun, as in the hands of the share coordinator.
	asked     []*kmsg.InitializeShareGroupStateRequest
	beginning Topics
	records   []coord.Record
}

func newWorld(t fataler) *world {
	return &world{t: t, group: New("g"), ms: 1_000_000, rules: Rules{MaxSize: 200}, beginning: Topics{}}
}

func (w *world) create(name string, partitions int) record.UUID {
	w.made++
	w.topics = append(w.topics, &metadata.Topic{Name: name, ID: record.UUID{0xee, w.made}, Partitions: make([]*metadata.Partition, partitions)})
	w.refresh = true
	return w.topics[len(w.topics)-1].ID
}

func (w *world) grow(name string, partitions int) {
	x := *w.topics.ByName(name)
	x.Partitions = make([]*metadata.Partition, partitions)
	w.topics[slices.Index(w.topics, w.topics.ByName(name))] = &x
	w.refresh = true
}

// drop deletes a topic; the group hears of it.
func (w *world) drop(name string) {
	id := w.topics.ByName(name).ID
	w.topics = slices.DeleteFunc(slices.Clone(w.topics), func(x *metadata.Topic) bool { return x.Name == name })
	w.refresh = true
	c := Begin(w.group)
	c.TopicsGone(map[record.UUID]struct{}{id: {}})
	w.commit(c)
}

func (w *world) view() view.View { return view.View{Topics: w.topics} }

// commit applies what a change decided, and checks that this is what it said (SHARE-1).
func (w *world) commit(c *Change) {
	w.t.Helper()
	for _, r := range c.Records {
		if err := w.group.Apply(r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	w.records = append(w.records, c.Records...)
	if got, want := fmt.Sprint(shown(w.group)), fmt.Sprint(shown(c.Group)); got != want {
		w.t.Fatalf("the records lead to %s, the change to %s", got, want)
	}
}

// shown is a group as text.
func shown(g *Group) string {
	out := fmt.Sprintf("%s %d/%d %d %x %+v dead %v", g.ID, g.Epoch, g.AssignmentEpoch, g.AssignmentMs, g.MetadataHash, g.Partitions, g.Dead)
	for _, m := range g.InOrder() {
		out += fmt.Sprintf(" [%s %d<%d %d %v reads %v has %v shall %v]", m.ID, m.Epoch, m.PreviousEpoch, m.state, m.ClientHost, m.Topics, m.Assigned, g.Targets[m.ID])
	}
	return out
}

func (w *world) beat(member string, epoch int32, topics ...string) (Beaten, *kerr.Error) {
	w.t.Helper()
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch = "g", member, epoch
	if topics != nil {
		req.SubscribedTopicNames = topics
	}
	c := Begin(w.group)
	b, e := c.Heartbeat(Now{
		View: w.view(), Rules: w.rules, Ms: w.ms, Refresh: w.refresh, Busy: w.beginning, Client: "c", Host: "/h",
	}, req)
	if e != nil {
		if len(c.Records) > 0 && c.Group == w.group {
			w.t.Fatal("a refused heartbeat has changed the group")
		}
		return b, e
	}
	w.refresh = false
	w.commit(c)
	if b.Begin != nil {
		w.asked = append(w.asked, b.Begin)
		w.beginning = w.beginning.Plus(InBeginning(b.Begin))
	}
	return b, nil
}

func (w *world) mustBeat(member string, epoch int32, topics ...string) Beaten {
	w.t.Helper()
	b, e := w.beat(member, epoch, topics...)
	if e != nil {
		w.t.Fatalf("heartbeat of %s at %d: %v", member, epoch, e)
	}
	return b
}

// persist has the share coordinator do what it was asked for; partitions for which refuse has a code it refuses.
func (w *world) persist(refuse map[place]int16) {
	w.t.Helper()
	for _, req := range w.asked {
		answer := kmsg.NewPtrInitializeShareGroupStateResponse()
		for _, t := range req.Topics {
			x := kmsg.NewInitializeShareGroupStateResponseTopic()
			x.TopicID = t.TopicID
			for _, p := range t.Partitions {
				y := kmsg.NewInitializeShareGroupStateResponseTopicPartition()
				y.Partition, y.ErrorCode = p.Partition, refuse[place{t.TopicID, p.Partition}]
				x.Partitions = append(x.Partitions, y)
			}
			answer.Topics = append(answer.Topics, x)
		}
		c := Begin(w.group)
		c.Begun(InBeginning(req), answer)
		w.beginning = w.beginning.Minus(InBeginning(req))
		w.commit(c)
	}
	w.asked = nil
}

func (w *world) leave(member string) {
	w.t.Helper()
	c := Begin(w.group)
	c.Remove(w.view(), w.group.Members[member])
	w.commit(c)
}
