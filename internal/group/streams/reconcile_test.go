package streams

import (
	"testing"
)

// held is a member with tasks of subtopology 0, written as roles by number: "A" runs, "S" and "W" are copies, "-" none.
func held(text string, epoch int32) Assignment {
	a := Assignment{}
	for n, r := range text {
		t := task{"0", int32(n)}
		switch r {
		case 'A':
			a[slot{Active, t}] = epoch
		case 'S':
			a[slot{Standby, t}] = 0
		case 'W':
			a[slot{Warmup, t}] = 0
		}
	}
	return a
}

func show(a Assignment, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = '-'
		if r, ok := a.roleOf(task{"0", int32(i)}); ok {
			out[i] = "ASW"[r]
		}
	}
	return string(out)
}

// One step of a member of process p at epoch 5 towards the assignment of epoch 8, beside a member b of the same process
// and a member q of another one.
func TestReconcile(t *testing.T) {
	silent, nothing := Assignment(nil), Assignment{}
	for _, x := range []struct {
		name                  string
		has, revoking, target string
		beside, elsewhere     string
		state                 MemberState
		owned                 Assignment
		assigned, revokes     string
		after                 MemberState
		epoch                 int32
	}{
		{name: "gets what is free", has: "A--", target: "AAS", assigned: "AAS", revokes: "---", after: Stable, epoch: 8},
		{name: "gives up first", has: "AA-", target: "A-A", assigned: "A--", revokes: "-A-", after: Unrevoked, epoch: 5},
		{name: "has given up already", has: "AA-", target: "A-A", owned: held("A--", 0), assigned: "A-A", revokes: "---", after: Stable, epoch: 8},
		{name: "still owns it", has: "AA-", target: "A-A", owned: held("AA-", 0), assigned: "A--", revokes: "-A-", after: Unrevoked, epoch: 5},
		{name: "waits for another process", has: "A--", target: "AA-", elsewhere: "-A-", assigned: "A--", revokes: "---", after: Unreleased, epoch: 8},
		{name: "waits for a member beside", has: "A--", target: "A-S", beside: "--S", assigned: "A--", revokes: "---", after: Unreleased, epoch: 8},
		{name: "a copy elsewhere is in nobody's way", has: "A--", target: "AAS", elsewhere: "-SA", assigned: "AAS", revokes: "---", after: Stable, epoch: 8},
		{name: "nobody runs what is copied beside", has: "---", target: "A--", beside: "S--", assigned: "---", revokes: "---", after: Unreleased, epoch: 8},
		{name: "a copy becomes the task", has: "S--", target: "A--", assigned: "A--", revokes: "---", after: Stable, epoch: 8},
		{name: "a copy is kept until then", has: "SA-", target: "A-A", assigned: "S--", revokes: "-A-", after: Unrevoked, epoch: 5},
		{name: "a copy is kept until the task is free", has: "S--", target: "A--", elsewhere: "A--", assigned: "S--", revokes: "---", after: Unreleased, epoch: 8},
		{name: "a task becomes a copy", has: "A--", target: "S--", assigned: "S--", revokes: "A--", after: Unrevoked, epoch: 5},
		{name: "a copy becomes one of the other kind", has: "SW-", target: "WS-", assigned: "WS-", revokes: "---", after: Stable, epoch: 8},
		{name: "a copy is given up like a task", has: "S--", target: "---", assigned: "---", revokes: "S--", after: Unrevoked, epoch: 5},
		{name: "has not given up yet", has: "A--", revoking: "-A-", state: Unrevoked, target: "A-A", owned: held("AA-", 0), assigned: "A--", revokes: "-A-", after: Unrevoked, epoch: 5},
		{name: "does not say", has: "A--", revoking: "-A-", state: Unrevoked, target: "A-A", owned: silent, assigned: "A--", revokes: "-A-", after: Unrevoked, epoch: 5},
		{name: "has given up at last", has: "A--", revoking: "-A-", state: Unrevoked, target: "A-A", owned: held("A--", 0), assigned: "A-A", revokes: "---", after: Stable, epoch: 8},
		{name: "has given up and is asked for more", has: "AA-", revoking: "--A", state: Unrevoked, target: "A--", owned: held("AA-", 0), assigned: "A--", revokes: "-A-", after: Unrevoked, epoch: 6},
		{name: "gets back what it was giving up", has: "A--", revoking: "-A-", state: Unrevoked, target: "AA-", owned: held("A--", 0), assigned: "AA-", revokes: "---", after: Stable, epoch: 8},
		{name: "waits on", has: "A--", state: Unreleased, target: "AA-", elsewhere: "-A-", assigned: "A--", revokes: "---", after: Unreleased, epoch: 8},
		{name: "what it waited for is free", has: "A--", state: Unreleased, target: "AA-", assigned: "AA-", revokes: "---", after: Stable, epoch: 8},
		{name: "a state of a version to come", has: "---", state: 99, target: "AS-", owned: nothing, assigned: "AS-", revokes: "---", after: Stable, epoch: 8},
	} {
		g := New("g")
		m := newMember("m")
		m.ProcessID, m.Epoch, m.PreviousEpoch, m.State = "p", 5, 4, x.state
		if x.state == 0 {
			m.State = Stable
		}
		m.Assigned, m.Revoking = held(x.has, 5), held(x.revoking, 5)
		b, q := newMember("b"), newMember("q")
		b.ProcessID, q.ProcessID, b.Assigned, q.Assigned = "p", "q", held(x.beside, 5), held(x.elsewhere, 5)
		for _, m := range []*Member{m, b, q} {
			g.put(m)
		}
		c := Begin(g)
		got := c.reconcile(m, 8, held(x.target, 0), x.owned)
		if a, r := show(got.Assigned, 3), show(got.Revoking, 3); a != x.assigned || r != x.revokes || got.State != x.after || got.Epoch != x.epoch {
			t.Errorf("%s: has %s, gives up %s, state %d, epoch %d; want %s, %s, %d, %d", x.name, a, r, got.State, got.Epoch, x.assigned, x.revokes, x.after, x.epoch)
		}
		owned := got.Assigned.with(got.Revoking)
		got = c.reconcile(got, 8, held(x.target, 0), owned) // who waits is written once more, with the epoch before
		if again := c.reconcile(got, 8, held(x.target, 0), owned); again != got {
			t.Errorf("%s: another step without news: %+v", x.name, again)
		}
	}
}

// with is what a client owns that has not given up anything yet.
func (a Assignment) with(o Assignment) Assignment {
	out := Assignment{}
	for _, x := range []Assignment{a, o} {
		for s, e := range x {
			out[s] = e
		}
	}
	return out
}

// A task that a member keeps is held since the epoch in which it came; what it gets is held since the new one.
func TestReconcileEpochsOfTasks(t *testing.T) {
	g, m := New("g"), newMember("m")
	m.Epoch, m.Assigned = 5, held("A--", 3)
	g.put(m)
	c := Begin(g)
	got := c.reconcile(m, 8, held("AAS", 0), nil)
	want := Assignment{{Active, task{"0", 0}}: 3, {Active, task{"0", 1}}: 8, {Standby, task{"0", 2}}: 0}
	if !got.Assigned.equal(want) {
		t.Errorf("has %v, want %v", got.Assigned, want)
	}
	if g.Members["m"] != m || m.Epoch != 5 {
		t.Error("the group changes before its records are applied (STREAMS-1)")
	}
}
