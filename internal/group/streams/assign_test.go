package streams

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// crew is a group of members in processes, with a topology of a stateful and a stateless part.
func crew(stateful, stateless int32, processes ...int) (*Group, *Live) {
	g, live := New("g"), NewLive()
	live.configured = &Configured{Subtopologies: map[string]*Subtopology{
		"0": {ID: "0", Tasks: stateless},
		"1": {ID: "1", Tasks: stateful, Changelogs: map[string]InternalTopic{"c": {}}},
	}}
	for p, members := range processes {
		for m := range members {
			addMember(g, fmt.Sprintf("p%d-m%d", p, m), fmt.Sprintf("p%d", p))
		}
	}
	return g, live
}

func addMember(g *Group, id, process string) {
	m := newMember(id)
	m.ProcessID = process
	g.put(m)
}

// take has every member reach what it was assigned.
func take(g *Group, made map[string]Assignment) {
	for id, a := range made {
		m := *g.Members[id]
		m.Assigned = a
		g.put(&m)
	}
}

// checkDeal tests what holds for every assignment: each task runs once, copies are in other processes, nobody has two
// tasks more than another.
func checkDeal(t *rapid.T, g *Group, live *Live, made map[string]Assignment, standbys int) {
	all, stateful := live.configured.tasks()
	ran, processes := map[task]int{}, map[task]map[string]int{}
	least, most := 1<<30, 0
	for id, a := range made {
		active := 0
		for s := range a {
			if processes[s.task] == nil {
				processes[s.task] = map[string]int{}
			}
			processes[s.task][g.Members[id].ProcessID]++
			if s.Role == Active {
				ran[s.task]++
				active++
			}
		}
		least, most = min(least, active), max(most, active)
	}
	if most-least > 1 {
		t.Fatalf("members run between %d and %d tasks", least, most)
	}
	instances := map[string]bool{}
	for _, m := range g.Members {
		instances[m.ProcessID] = true
	}
	for _, x := range all {
		want := 1
		if slices.Contains(stateful, x) {
			want += min(standbys, len(instances)-1)
		}
		if ran[x] != 1 || len(processes[x]) != want {
			t.Fatalf("%v runs %d times, is in %v, want %d", x, ran[x], processes[x], want)
		}
		for p, n := range processes[x] {
			if n != 1 {
				t.Fatalf("%s has %v %d times", p, x, n)
			}
		}
	}
}

// Whoever comes and goes, tasks are dealt evenly and once; nothing moves without a reason; and what a member gives up
// when one joins is no more than that one gets.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stateful, stateless := rapid.Int32Range(0, 9).Draw(rt, "stateful"), rapid.Int32Range(0, 7).Draw(rt, "stateless")
		standbys := rapid.IntRange(0, 3).Draw(rt, "standbys")
		g, live := crew(stateful, stateless, rapid.SliceOfN(rapid.IntRange(1, 3), 1, 4).Draw(rt, "processes")...)
		made := assign(g, live, standbys)
		checkDeal(rt, g, live, made, standbys)
		take(g, made)
		for step := range rapid.IntRange(1, 5).Draw(rt, "steps") {
			before := maps.Clone(g.Members)
			again := assign(g, live, standbys)
			for id := range again {
				for s := range g.Members[id].Assigned {
					if _, stays := again[id][s]; !stays && s.Role == Active {
						rt.Fatalf("%v moves away from %s without a reason", s, id)
					}
				}
			}
			if len(g.Members) > 1 && rapid.Bool().Draw(rt, "leave") {
				id := rapid.SampledFrom(slices.Sorted(maps.Keys(g.Members))).Draw(rt, "who")
				g.drop(id)
				delete(before, id)
				made = assign(g, live, standbys)
				for id, m := range before {
					for s := range m.Assigned {
						if s.Role == Active && !made[id].has(Active, s.task) {
							rt.Fatalf("%v moves away from %s although another left", s, id)
						}
					}
				}
			} else {
				id := fmt.Sprint("new", step)
				addMember(g, id, rapid.SampledFrom([]string{"p0", "p9"}).Draw(rt, "process"))
				made = assign(g, live, standbys)
				moved, got := 0, 0
				for other, m := range before {
					for s := range m.Assigned {
						if s.Role == Active && !made[other].has(Active, s.task) {
							moved++
						}
					}
				}
				for s := range made[id] {
					if s.Role == Active {
						got++
					}
				}
				if moved != got {
					rt.Fatalf("%d tasks move for %d of the new member", moved, got)
				}
			}
			checkDeal(rt, g, live, made, standbys)
			take(g, made)
		}
	})
}

// A task whose owner has gone goes to who has the best copy: an assigned one before one that is left on disk, and of
// these the one that has come furthest.
func TestAssignFollowsCopies(t *testing.T) {
	x := task{"1", 0}
	for _, c := range []struct {
		name    string
		standby string
		offsets map[string]int64
		want    string
	}{
		{"nobody has one", "", nil, "p0-m0"},
		{"a standby", "p2-m0", map[string]int64{"p1-m0": 100}, "p2-m0"},
		{"what is left on disk", "", map[string]int64{"p1-m0": 5, "p2-m0": 9}, "p2-m0"},
		{"equal offsets", "", map[string]int64{"p2-m0": 5, "p1-m0": 5}, "p1-m0"},
	} {
		g, live := crew(1, 0, 1, 1, 1)
		if c.standby != "" {
			take(g, map[string]Assignment{c.standby: {{Standby, x}: 0}})
		}
		for id, offset := range c.offsets {
			live.offsets[id] = Offsets{at: map[task]int64{x: offset}}
		}
		if made := assign(g, live, 0); !made[c.want].has(Active, x) {
			t.Errorf("%s: %v, want it at %s", c.name, made, c.want)
		}
	}
}

// Members of one process share its state, so a copy beside the task would be of no use.
func TestAssignNoCopyInOneProcess(t *testing.T) {
	g, live := crew(4, 0, 3)
	for id, a := range assign(g, live, 2) {
		for s := range a {
			if s.Role != Active {
				t.Errorf("%s has %v", id, s)
			}
		}
	}
}
