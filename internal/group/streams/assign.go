package streams

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// AssignorName is the one assignor that there is.
const AssignorName = "sticky"

// seat is a member while tasks are given out.
type seat struct {
	id       string
	instance *instance
	tasks    int
	gets     Assignment
}

// instance is a process of an application: its members share a state directory, so it has each task once.
type instance struct {
	seats []*seat
	tasks int
	has   map[task]bool
}

// busier reports whether there are more tasks for each member than in another instance.
func (i *instance) busier(o *instance) bool { return i.tasks*len(o.seats) > o.tasks*len(i.seats) }

// claim is why a member should get a task: what it has of it.
type claim struct {
	*seat
	// strength is ran, copied or left.
	strength int
	// offset is how far its copy has come.
	offset int64
}

// The strengths of claims: a state directory may still hold what a member had before it joined.
const (
	left = iota
	copied
	ran
)

// dealer gives out tasks.
type dealer struct {
	seats []*seat
	// instances is how many there are.
	instances int
	// claims are those to each task, the strongest first.
	claims map[task][]claim
	// each is what a member should have, and spare how many members may have one task more.
	each, spare int
}

// assign gives the tasks of a topology to the members: one runs it, and as many as are wanted keep a copy, in other
// processes. Members get the same number of tasks, but for one, and of all ways to do that one is chosen that leaves
// tasks where they are, or lie on disk. Between equals the order of ids decides, in Kafka that of its hash tables.
func assign(g *Group, live *Live, standbys int) map[string]Assignment {
	d := newDealer(g, live)
	running, kept := live.configured.tasks()
	d.limit(len(running))
	d.deal(Active, running)
	copies := min(standbys, d.instances-1)
	d.limit(len(running) + copies*len(kept))
	for range copies {
		d.deal(Standby, kept)
	}
	out := map[string]Assignment{}
	for _, s := range d.seats {
		out[s.id] = s.gets
	}
	return out
}

// tasks are all of a topology, and those of them that keep something.
func (c *Configured) tasks() (all, stateful []task) {
	for _, id := range slices.Sorted(maps.Keys(c.Subtopologies)) {
		s := c.Subtopologies[id]
		for n := range s.Tasks {
			all = append(all, task{id, n})
			if len(s.Changelogs) > 0 {
				stateful = append(stateful, task{id, n})
			}
		}
	}
	return all, stateful
}

func newDealer(g *Group, live *Live) *dealer {
	d := &dealer{claims: map[task][]claim{}}
	byProcess := map[string]*instance{}
	for _, m := range g.InOrder() {
		i := byProcess[m.ProcessID]
		if i == nil {
			i = &instance{has: map[task]bool{}}
			byProcess[m.ProcessID] = i
		}
		s := &seat{id: m.ID, instance: i, gets: Assignment{}}
		i.seats, d.seats = append(i.seats, s), append(d.seats, s)
		offsets := live.offsets[m.ID].at
		for x := range m.Assigned {
			if x.Role == Active {
				d.claims[x.task] = append(d.claims[x.task], claim{s, ran, 0})
			} else {
				d.claims[x.task] = append(d.claims[x.task], claim{s, copied, offsets[x.task]})
			}
		}
		for t, offset := range offsets {
			if _, has := m.Assigned.roleOf(t); !has {
				d.claims[t] = append(d.claims[t], claim{s, left, offset})
			}
		}
	}
	d.instances = len(byProcess)
	for _, list := range d.claims {
		slices.SortFunc(list, func(a, b claim) int {
			return cmp.Or(cmp.Compare(b.strength, a.strength), cmp.Compare(b.offset, a.offset), strings.Compare(a.id, b.id))
		})
	}
	return d
}

// limit says how many tasks there will be.
func (d *dealer) limit(tasks int) {
	d.each, d.spare = tasks/len(d.seats), tasks%len(d.seats)
	for _, s := range d.seats {
		if s.tasks > d.each {
			d.spare--
		}
	}
}

// room reports whether a member may have one more task although others have fewer.
func (d *dealer) room(s *seat) bool { return s.tasks < d.each || s.tasks == d.each && d.spare > 0 }

func (d *dealer) give(s *seat, r Role, t task) {
	s.gets[slot{r, t}] = 0
	if s.tasks == d.each {
		d.spare--
	}
	s.tasks++
	s.instance.tasks++
	s.instance.has[t] = true
}

// deal gives out each of the tasks once in a role: by claims first, then to who has the least. Claims are met in the
// order of numbers, so that who must give something up goes on with tasks of all subtopologies. Copies are dealt from
// the other end: the instances that have least to do then are those that got the last tasks to run.
func (d *dealer) deal(r Role, tasks []task) {
	end := 1
	if r != Active {
		end = -1
	}
	rest := slices.SortedFunc(slices.Values(tasks), func(a, b task) int {
		return end * cmp.Or(cmp.Compare(a.n, b.n), strings.Compare(a.subtopology, b.subtopology))
	})
	for _, strengths := range [][]int{{ran}, {copied, left}} { // a copy must not keep another task's owner from going on
		rest = slices.DeleteFunc(rest, func(t task) bool { return d.claimed(r, t, strengths) })
	}
	slices.SortFunc(rest, func(a, b task) int { return end * compareTasks(a, b) })
	for _, t := range rest {
		if s := d.least(t); s != nil {
			d.give(s, r, t)
		}
	}
}

// claimed gives a task to the strongest claim that can be met, if any.
func (d *dealer) claimed(r Role, t task, strengths []int) bool {
	for _, c := range d.claims[t] {
		if slices.Contains(strengths, c.strength) && !c.instance.has[t] && d.room(c.seat) {
			d.give(c.seat, r, t)
			return true
		}
	}
	return false
}

// least is the member with the fewest tasks, in the instance with the least to do, that can get a task; nil if all
// instances have it.
func (d *dealer) least(t task) *seat {
	var best *seat
	for _, s := range d.seats {
		switch {
		case s.instance.has[t]:
		case best == nil, s.tasks < best.tasks, s.tasks == best.tasks && best.instance.busier(s.instance):
			best = s
		}
	}
	return best
}
