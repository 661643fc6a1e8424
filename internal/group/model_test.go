package group

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// TestMembershipModel runs random clients against one group, with timers that fire, writes that fail and
// coordinators that restart, and checks after every step what must always hold: generations only grow, all
// members of a generation agree, every partition is owned once, nobody is forgotten.
func TestMembershipModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"":          w.check,
			"join":      w.join,
			"sync":      w.sync,
			"heartbeat": w.heartbeat,
			"leave":     w.leave,
			"timer":     func(*rapid.T) { w.fire() },
			"failure":   func(*rapid.T) { w.failing = !w.failing },
			"restart":   func(*rapid.T) { w.restart() },
		})
		w.settle(rt)
	})
}

const modelPartitions = 7

type world struct {
	env     *env
	m       *machine
	log     []coord.Record
	failing bool
	clients []*modelClient
	// generation is the newest that anybody has seen; seen holds what each was said to be.
	generation int32
	seen       map[int32]string
}

type modelClient struct {
	name     string
	static   bool
	version  int16
	id       string
	metadata string
	gen      int32
	leader   bool
	members  []kmsg.JoinGroupResponseMember
	join     *joining
	sync     *syncing
	// owned is its assignment in generation ownedIn.
	owned   string
	ownedIn int32
	// refused: the group is full.
	refused bool
}

func newWorld(rt *rapid.T) *world {
	s := NewService(Options{Config: func() Settings {
		set := DefaultSettings()
		set.InitialRebalanceDelay = 0
		set.MaxSize = 5
		return set
	}})
	w := &world{env: s.env, seen: map[int32]string{}}
	w.m = newMachine(w.env, coord.NewTimers())
	for i := range rapid.IntRange(1, 6).Draw(rt, "clients") {
		w.clients = append(w.clients, &modelClient{
			name:    fmt.Sprint("c", i),
			static:  rapid.Bool().Draw(rt, "static"),
			version: rapid.SampledFrom([]int16{3, 5, 8, 9}).Draw(rt, "version"),
		})
	}
	return w
}

var errModel = errors.New("the write fails")

// do finishes an operation: its records are written or not, and it is told.
func (w *world) do(r coord.Result) {
	for {
		var err error
		switch {
		case len(r.Records) == 0:
		case w.failing:
			err = errModel
		default:
			for _, x := range r.Records {
				w.log = append(w.log, x)
				if !r.Applied {
					w.replay(record.Offset(len(w.log)-1), x)
				}
			}
		}
		if r.Done == nil {
			break
		}
		if r = r.Done(err); r.Done == nil && len(r.Records) == 0 {
			break
		}
	}
	w.collect()
}

func (w *world) replay(at record.Offset, x coord.Record) {
	if err := w.m.Replay(coord.Replayed{Offset: at, ProducerID: -1, Key: x.Key, Value: x.Value}); err != nil {
		panic(err)
	}
}

func (w *world) fire() bool {
	r, ok := w.m.timers.RunFirst()
	if ok {
		w.do(r)
	}
	return ok
}

// restart reads the log into a new machine, as another coordinator does.
func (w *world) restart() {
	w.m.Unloaded()
	w.collect()
	w.m = newMachine(w.env, coord.NewTimers())
	for i, x := range w.log {
		w.replay(record.Offset(i), x)
	}
	// A generation that nobody had an assignment of was not stored; its number is used again.
	w.generation = 0
	if g := w.m.groups["g"]; g != nil {
		w.generation = g.generation
	}
	clear(w.seen)
	w.do(w.m.Loaded())
}

func (w *world) pick(rt *rapid.T) *modelClient {
	return rapid.SampledFrom(w.clients).Draw(rt, "client")
}

func (w *world) join(rt *rapid.T) {
	c := w.pick(rt)
	if c.join != nil || c.sync != nil {
		return // its connection is busy
	}
	if rapid.IntRange(0, 9).Draw(rt, "changes") == 0 {
		c.metadata += "'"
	}
	if rapid.IntRange(0, 9).Draw(rt, "forgets") == 0 {
		c.id = ""
	}
	w.sendJoin(c)
}

func (w *world) sendJoin(c *modelClient) {
	j := &joining{
		answer: newAnswer[*joinResponse](), version: c.version, group: "g", memberID: c.id,
		clientID: c.name, rebalanceTimeoutMs: 60_000, sessionTimeoutMs: 30_000,
		protocolType: consumerProtocolType, protocols: []protocol{{"range", []byte(c.metadata)}},
	}
	if c.static && c.version >= 5 {
		j.instance = kmsg.StringPtr(c.name)
	}
	c.join = j
	w.do(w.m.join(j))
}

func (w *world) sync(rt *rapid.T) {
	c := w.pick(rt)
	if c.join == nil && c.sync == nil && c.id != "" {
		w.sendSync(c)
	}
}

func (w *world) sendSync(c *modelClient) {
	y := &syncing{answer: newAnswer[*syncResponse](), group: "g", memberID: c.id, generation: c.gen, assignment: map[string][]byte{}}
	if c.leader {
		for p := range modelPartitions {
			id := c.members[p%len(c.members)].MemberID
			y.assignment[id] = append(y.assignment[id], byte('0'+p))
		}
	}
	c.sync = y
	w.do(w.m.sync(y))
}

func (w *world) heartbeat(rt *rapid.T) {
	c := w.pick(rt)
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = "g", c.id, c.gen
	w.m.heartbeat(r)
}

func (w *world) leave(rt *rapid.T) {
	c := w.pick(rt)
	l := kmsg.NewLeaveGroupRequestMember()
	l.MemberID = c.id
	out, r := w.m.leave("g", []kmsg.LeaveGroupRequestMember{l})
	w.do(r)
	if out[0].ErrorCode == 0 {
		c.id, c.owned = "", ""
	}
}

// collect gives the clients the answers that have come.
func (w *world) collect() {
	for _, c := range w.clients {
		if j := c.join; j != nil && answered(j.answer.done) {
			c.join = nil
			w.joined(c, j.answer.value)
		}
		if y := c.sync; y != nil && answered(y.answer.done) {
			c.sync = nil
			w.synced(c, y.answer.value)
		}
	}
}

func answered(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func (w *world) joined(c *modelClient, r *joinResponse) {
	c.owned, c.leader = "", false
	c.refused = r.ErrorCode == kerr.GroupMaxSizeReached.Code
	switch r.ErrorCode {
	case 0:
		c.id, c.gen, c.members, c.leader = r.MemberID, r.Generation, r.Members, len(r.Members) > 0 && !r.SkipAssignment
	case kerr.MemberIDRequired.Code:
		c.id = r.MemberID
		return
	case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
		c.id = ""
		return
	default:
		return
	}
	if r.Generation < w.generation {
		panic(fmt.Sprintf("generation %d after %d", r.Generation, w.generation))
	}
	w.generation = r.Generation
	says := *r.Protocol
	if before, ok := w.seen[r.Generation]; ok && before != says {
		panic(fmt.Sprintf("generation %d has protocol %s, and %s", r.Generation, before, says))
	}
	w.seen[r.Generation] = says
	if len(r.Members) > 0 && r.LeaderID != r.MemberID {
		panic("the members were shown to " + r.MemberID + ", which does not lead")
	}
}

func (w *world) synced(c *modelClient, r *syncResponse) {
	switch r.ErrorCode {
	case 0:
		c.owned, c.ownedIn = string(r.MemberAssignment), c.gen
		w.checkStored(c)
	case kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code:
		c.id = ""
	}
}

// checkStored finds the assignment in the last record of the group (GROUP-3).
func (w *world) checkStored(c *modelClient) {
	for i := len(w.log) - 1; i >= 0; i-- {
		if _, group, _ := keyOf(w.log[i].Key); group != "g" {
			continue
		}
		v, err := decodeValue[*stored.GroupMetadataValue](w.log[i].Value, typeGroup)
		if err != nil {
			panic(err)
		}
		for _, x := range v.Members {
			if x.MemberID == c.id && v.Generation == c.gen && string(x.Assignment) == c.owned {
				return
			}
		}
		break
	}
	panic(fmt.Sprintf("%s was given %q in generation %d, which is not stored", c.id, c.owned, c.gen))
}

// check is what must hold after every step.
func (w *world) check(rt *rapid.T) {
	g := w.m.groups["g"]
	if g == nil { // it was deleted, or could not be written: a new one begins at 1
		w.generation = 0
		clear(w.seen)
		for _, c := range w.clients {
			if c.join != nil || c.sync != nil {
				rt.Fatalf("%s waits for a group that is not there", c.name)
			}
		}
		return
	}
	w.checkGroup(rt, g)
	for _, c := range w.clients {
		if c.join != nil && !waitsIn(g, func(x *member) bool { return x.join == c.join.answer }) {
			rt.Fatalf("%s waits in JoinGroup and is forgotten", c.name)
		}
		if c.sync != nil && !waitsIn(g, func(x *member) bool { return x.sync == c.sync.answer }) {
			rt.Fatalf("%s waits in SyncGroup and is forgotten", c.name)
		}
	}
	owners := map[rune]string{}
	for _, c := range w.clients {
		if c.owned == "" || c.ownedIn != g.generation || g.state != Stable || g.byID[c.id] == nil {
			continue
		}
		for _, p := range c.owned {
			if owners[p] != "" && owners[p] != c.id {
				rt.Fatalf("partition %c is owned by %s and %s", p, owners[p], c.id)
			}
			owners[p] = c.id
		}
	}
}

func waitsIn(g *classicGroup, f func(*member) bool) bool {
	for _, x := range g.members {
		if f(x) {
			return true
		}
	}
	return false
}

// checkGroup compares what the group counts with what it holds.
func (w *world) checkGroup(rt *rapid.T, g *classicGroup) {
	waiting, supported := 0, map[string]int{}
	for _, x := range g.members {
		if g.byID[x.id] != x {
			rt.Fatalf("member %s is not found by its id", x.id)
		}
		if x.instance != nil && g.static[*x.instance] != x.id {
			rt.Fatalf("instance %s is said to be %s, not %s", *x.instance, g.static[*x.instance], x.id)
		}
		if x.join != nil {
			waiting++
		}
		for _, p := range x.protocols {
			supported[p.name]++
		}
		if !x.session.Running() && !x.alive() {
			rt.Fatalf("nobody watches the session of %s in state %s", x.id, g.state)
		}
	}
	switch {
	case len(g.byID) != len(g.members), len(g.static) > len(g.members):
		rt.Fatalf("%d members, %d by id, %d static", len(g.members), len(g.byID), len(g.static))
	case waiting != g.awaitingJoin:
		rt.Fatalf("%d members wait, %d are counted", waiting, g.awaitingJoin)
	case fmt.Sprint(supported) != fmt.Sprint(g.supported):
		rt.Fatalf("protocols %v are counted as %v", supported, g.supported)
	case (g.leader == "") != (len(g.members) == 0), g.leader != "" && g.byID[g.leader] == nil:
		rt.Fatalf("leader %q of %d members", g.leader, len(g.members))
	case g.state == Empty && len(g.members) > 0, g.state == Stable && len(g.members) == 0, g.state == CompletingRebalance && len(g.members) == 0:
		rt.Fatalf("%s with %d members", g.state, len(g.members))
	case g.state == PreparingRebalance && !g.joinTimer.Running():
		rt.Fatalf("nothing ends the join phase")
	case g.state == CompletingRebalance && len(g.pendingSync) > 0 && !g.syncTimer.Running():
		rt.Fatalf("nothing ends the wait for SyncGroup")
	case g.state != PreparingRebalance && waiting > 0:
		rt.Fatalf("%d members wait in JoinGroup in state %s", waiting, g.state)
	case g.generation < w.generation:
		rt.Fatalf("generation %d after %d", g.generation, w.generation)
	}
	if n := w.env.counters.groups[g.state].Load(); n != 1 {
		rt.Fatalf("%d groups are counted in state %s", n, g.state)
	}
}

// settle lets all clients behave: in the end the group is stable, and every partition is owned.
func (w *world) settle(rt *rapid.T) {
	w.failing = false
	for range 200 {
		busy := false
		for _, c := range w.clients {
			g := w.m.groups["g"]
			switch {
			case c.join != nil || c.sync != nil:
			case g == nil || c.id == "" || g.byID[c.id] == nil || c.gen != g.generation || g.state == PreparingRebalance:
				w.sendJoin(c)
				busy = busy || !c.refused
			case c.owned == "" || c.ownedIn != c.gen:
				w.sendSync(c)
				busy = true
			}
			w.check(rt)
		}
		if g := w.m.groups["g"]; !busy && g != nil && g.state == Stable {
			w.checkSettled(rt, g)
			return
		}
		if !busy && !w.fire() {
			break
		}
	}
	var state string
	if g := w.m.groups["g"]; g != nil {
		state = fmt.Sprintf("%s, %d members, %d wait", g.state, len(g.members), g.awaitingJoin)
	}
	rt.Fatalf("the group does not settle: %s", state)
}

func (w *world) checkSettled(rt *rapid.T, g *classicGroup) {
	var all []byte
	for _, x := range g.members {
		all = append(all, x.assignment...)
	}
	for p := range modelPartitions {
		if n := bytes.Count(all, []byte{byte('0' + p)}); n != 1 {
			rt.Fatalf("partition %d is owned %d times in the end (%s)", p, n, strings.Join(memberIDs(g), " "))
		}
	}
}

func memberIDs(g *classicGroup) (out []string) {
	for _, x := range g.members {
		out = append(out, x.id)
	}
	return out
}
