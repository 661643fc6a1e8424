package group

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/modern"
)

// instance is a client of the streams protocol with one thread: it runs what it is told, and gives up at once what it
// must.
type instance struct {
	*client
	group, id, process string
	static             *string
	epoch              int32
	active             []kmsg.TaskIDs
	statuses           []int8
}

func (h *host) instance(group, id string) *instance {
	return &instance{client: h.client(id), group: group, id: id, process: id, active: []kmsg.TaskIDs{}}
}

func (x *instance) request() *tasksRequest {
	r := kmsg.NewPtrStreamsGroupHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.MemberEpoch, r.InstanceID, r.ProcessID = 1, x.group, x.id, x.epoch, x.static, &x.process
	r.ActiveTasks, r.StandbyTasks, r.WarmupTasks = x.active, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	if x.epoch == modern.Join {
		s := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
		s.SubtopologyID, s.SourceTopics = "0", []string{"words"}
		r.RebalanceTimeoutMillis = 10_000
		r.Topology = &kmsg.StreamsGroupHeartbeatRequestTopology{Epoch: 1, Subtopologies: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{s}}
	}
	return r
}

func (x *instance) send(r *tasksRequest) *tasksResponse {
	return x.h.StreamsGroupHeartbeat(context.Background(), x.caller, r)
}

// beat1071 sends a full heartbeat and returns its error.
func (x *instance) beat1071() int16 {
	r := x.send(x.request())
	x.statuses = nil
	for _, s := range r.Status {
		x.statuses = append(x.statuses, s.StatusCode)
	}
	if r.ErrorCode == 0 {
		x.epoch = r.MemberEpoch
		if r.ActiveTasks != nil {
			x.active = r.ActiveTasks
		}
	}
	return r.ErrorCode
}

func (x *instance) leave1071(epoch int32) int16 {
	r := x.request()
	r.MemberEpoch, r.Topology = epoch, nil
	return x.send(r).ErrorCode
}

func (x *instance) count() int {
	n := 0
	for _, t := range x.active {
		n += len(t.Partitions)
	}
	return n
}

func (h *host) state1071(group string) describedStreams {
	return h.StreamsGroupDescribe(context.Background(), Caller{}, &kmsg.StreamsGroupDescribeRequest{Version: 1, Groups: []string{group}}).Groups[0]
}

func streamsHost(t *testing.T, partitions int, change func(*StreamsConfig)) *host {
	h := newHost(t, nil)
	h.topics.add("words", partitions)
	own := DefaultStreamsConfig()
	own.InitialDelay = 0
	if change != nil {
		change(&own)
	}
	h.env.streamsConfig = func(string) StreamsConfig { return own }
	return h
}

// A member that is silent is removed when its session is over, one that does not give up its tasks when its rebalance
// timeout is; whoever is left gets everything.
func TestStreamsTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 4, nil)
		a, b := h.instance("g", "a"), h.instance("g", "b")
		wantCode(t, "A joins", a.beat1071(), nil)
		time.Sleep(2 * time.Second)
		wantCode(t, "B joins", b.beat1071(), nil)
		kept := a.active
		for range 9 {
			wantCode(t, "A beats on", a.beat1071(), nil)
			a.active = kept // it does not give up anything
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second)
		wantCode(t, "A after its rebalance timeout", a.beat1071(), kerr.UnknownMemberID)
		wantCode(t, "B", b.beat1071(), nil)
		if b.count() != 4 {
			t.Errorf("B runs %v", b.active)
		}
		time.Sleep(44 * time.Second)
		wantCode(t, "B within its session", b.beat1071(), nil)
		time.Sleep(46 * time.Second)
		wantCode(t, "B after its session", b.beat1071(), kerr.UnknownMemberID)
		if d := h.state1071("g"); d.State != "Empty" {
			t.Errorf("the group is %s", d.State)
		}
		h.Close()
	})
}

// The time to give tasks up begins again when a member is asked for others, and not when it is asked for the same.
func TestStreamsRebalanceTimeoutBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 6, nil)
		a, b, c := h.instance("g", "a"), h.instance("g", "b"), h.instance("g", "c")
		wantCode(t, "A joins", a.beat1071(), nil)
		time.Sleep(time.Second)
		wantCode(t, "B joins", b.beat1071(), nil)
		wantCode(t, "A is told", a.beat1071(), nil) // and gives up three
		time.Sleep(9 * time.Second)
		wantCode(t, "C joins", c.beat1071(), nil)
		wantCode(t, "A has given up, and is asked for more", a.beat1071(), nil)
		time.Sleep(9 * time.Second)
		wantCode(t, "A within the second time", a.beat1071(), nil)
		if a.count() != 2 {
			t.Errorf("A runs %v", a.active)
		}
		h.Close()
	})
}

// The first assignment waits for more members, who all get their share at once; members that come later do not wait.
func TestStreamsInitialDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 4, func(c *StreamsConfig) { c.InitialDelay = 3 * time.Second })
		a, b := h.instance("g", "a"), h.instance("g", "b")
		wantCode(t, "A joins", a.beat1071(), nil)
		if !slices.Equal(a.statuses, []int8{5}) || a.epoch != 1 {
			t.Errorf("A joins: statuses %v, epoch %d", a.statuses, a.epoch)
		}
		time.Sleep(2 * time.Second)
		wantCode(t, "B joins", b.beat1071(), nil)
		time.Sleep(1100 * time.Millisecond)
		wantCode(t, "A", a.beat1071(), nil)
		wantCode(t, "B", b.beat1071(), nil)
		if a.count() != 2 || b.count() != 2 || len(a.statuses) != 0 {
			t.Errorf("after the delay A runs %v, B %v; statuses %v", a.active, b.active, a.statuses)
		}
		time.Sleep(time.Second)
		c := h.instance("g", "c")
		wantCode(t, "C joins", c.beat1071(), nil)
		if slices.Contains(c.statuses, 5) {
			t.Errorf("C waits: %v", c.statuses)
		}
		h.Close()
	})
}

// A member that asks for it ends the whole application; who joins afterwards, when all are gone, is not told to.
func TestStreamsShutdownApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 4, nil)
		a, b := h.instance("g", "a"), h.instance("g", "b")
		wantCode(t, "A joins", a.beat1071(), nil)
		time.Sleep(time.Second)
		wantCode(t, "B joins", b.beat1071(), nil)
		r := a.request()
		r.ShutdownApplication = true
		wantCode(t, "A ends the application", a.send(r).ErrorCode, nil)
		wantCode(t, "B", b.beat1071(), nil)
		if !slices.Contains(b.statuses, 4) {
			t.Errorf("B is told %v", b.statuses)
		}
		wantCode(t, "A leaves", a.leave1071(modern.Leave), nil)
		wantCode(t, "B leaves", b.leave1071(modern.Leave), nil)
		c := h.instance("g", "c")
		wantCode(t, "C joins", c.beat1071(), nil)
		if slices.Contains(c.statuses, 4) {
			t.Errorf("C is told %v", c.statuses)
		}
		h.Close()
	})
}

// A static member that leaves for a while finds its tasks again under another id, unless its session is over by then;
// nobody else gets them meanwhile.
func TestStreamsStaticMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 4, nil)
		name := "i"
		a, b := h.instance("g", "a"), h.instance("g", "b")
		a.static = &name
		wantCode(t, "A joins", a.beat1071(), nil)
		wantCode(t, "B joins", b.beat1071(), nil)
		for range 3 {
			time.Sleep(time.Second)
			wantCode(t, "A", a.beat1071(), nil)
			wantCode(t, "B", b.beat1071(), nil)
		}
		second := h.instance("g", "second")
		second.static, second.process = &name, a.process
		wantCode(t, "its place is taken", second.beat1071(), kerr.UnreleasedInstanceID)
		wantCode(t, "A leaves for a while", a.leave1071(modern.LeaveStatic), nil)
		before := h.state1071("g").AssignmentEpoch
		wantCode(t, "it comes back", second.beat1071(), nil)
		wantCode(t, "the one before", a.beat1071(), kerr.FencedInstanceID)
		if d := h.state1071("g"); second.count() != 2 || b.count() != 2 || d.AssignmentEpoch != before {
			t.Errorf("it runs %v, B %v, epoch %d after %d", second.active, b.active, d.AssignmentEpoch, before)
		}
		wantCode(t, "it leaves for a while", second.leave1071(modern.LeaveStatic), nil)
		for range 5 {
			time.Sleep(10 * time.Second)
			wantCode(t, "B", b.beat1071(), nil)
		}
		if b.count() != 4 {
			t.Errorf("after the session of the other B runs %v", b.active)
		}
		h.Close()
	})
}

// A group that is read from its records goes on: its members keep their tasks and epochs, and their sessions begin anew.
func TestStreamsReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 4, nil)
		a, b := h.instance("g", "a"), h.instance("g", "b")
		wantCode(t, "A joins", a.beat1071(), nil)
		wantCode(t, "B joins", b.beat1071(), nil)
		for range 3 {
			time.Sleep(time.Second)
			wantCode(t, "A", a.beat1071(), nil)
			wantCode(t, "B", b.beat1071(), nil)
		}
		before := h.state1071("g")
		time.Sleep(40 * time.Second)
		h.restart()
		after := h.state1071("g")
		before.Topology, after.Topology = nil, nil // as members told it, until the first of them is heard of
		if !reflect.DeepEqual(before, after) {
			t.Errorf("after:\n%+v\nbefore:\n%+v", after, before)
		}
		time.Sleep(40 * time.Second)
		written := len(h.types("g"))
		wantCode(t, "A", a.beat1071(), nil)
		wantCode(t, "B", b.beat1071(), nil)
		if a.count() != 2 || b.count() != 2 || h.state1071("g").State != "Stable" || len(h.types("g")) != written {
			t.Errorf("A runs %v, B %v, the group is %s, records %v", a.active, b.active, h.state1071("g").State, h.types("g")[written:])
		}
		time.Sleep(46 * time.Second)
		if d := h.state1071("g"); d.State != "Empty" {
			t.Errorf("after their sessions the group is %s", d.State)
		}
		h.Close()
	})
}
