package streams

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
)

// place is a member with its process.
type place struct {
	process *process
	member  string
}

// stickiness is the work of one assignment. Quotas are the most tasks that a member may keep from before; as soon as a
// member has that many, what is left is divided among the others.
type stickiness struct {
	standbys                   int
	processes                  []*process
	activeQuota, totalQuota    quota
	ran                        map[task]place
	copied                     map[task][]place
	statefulTasks, activeTasks []task
}

// quota divides tasks among members.
type quota struct{ tasks, members, each int }

func quotaOf(tasks, members int) quota {
	q := quota{tasks: tasks, members: members}
	if members > 0 {
		q.each = (tasks + members - 1) / members
	}
	return q
}

// filled notes that a member has n tasks now.
func (q *quota) filled(n int) {
	if n == q.each {
		*q = quotaOf(q.tasks-n, q.members-1)
	}
}

// sticky assigns tasks so that members have about the same number, and keep what they have (StickyTaskAssignor of
// Kafka): first running tasks to who runs them, then to who has a copy, then to the process with the least to do; copies
// then likewise, none to a process that has the task already. Where Kafka follows the order of its hash tables this
// follows the order of ids.
func sticky(g *Group, live *Live, standbys int) map[string]Assignment {
	s := prepare(g, live, standbys)
	s.assignActive()
	if standbys > 0 {
		s.assignStandby()
	}
	out := map[string]Assignment{}
	for _, p := range s.processes {
		for _, m := range p.members {
			out[m.id] = Assignment{m.active, m.standby, Tasks{}}
		}
	}
	return out
}

func prepare(g *Group, live *Live, standbys int) *stickiness {
	s := &stickiness{standbys: standbys, ran: map[task]place{}, copied: map[task][]place{}}
	for _, id := range live.configured.ids() {
		sub := live.configured.Subtopologies[id]
		for n := range sub.Tasks {
			s.activeTasks = append(s.activeTasks, task{id, n})
			if sub.stateful() {
				s.statefulTasks = append(s.statefulTasks, task{id, n})
			}
		}
	}
	s.activeQuota = quotaOf(len(s.activeTasks), len(g.Members))
	s.totalQuota = quotaOf(len(s.activeTasks)+standbys*len(s.statefulTasks), len(g.Members))
	byID := map[string]*process{}
	candidates := map[task][]candidate{}
	for _, m := range g.sortedMembers() {
		p := byID[m.ProcessID]
		if p == nil {
			p = &process{id: m.ProcessID, tasks: map[task]struct{}{}}
			byID[m.ProcessID] = p
		}
		p.members = append(p.members, &worker{id: m.ID, active: Tasks{}, standby: Tasks{}})
		at := place{p, m.ID}
		m.Assigned.Active.each(func(sub string, n, _ int32) { s.ran[task{sub, n}] = at })
		collect(candidates, m, live.offsets[m.ID].at, at)
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		s.processes = append(s.processes, byID[id])
	}
	for t, list := range candidates {
		slices.SortStableFunc(list, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.assigned, a.assigned), cmp.Compare(b.offset, a.offset))
		})
		for _, c := range list {
			s.copied[t] = append(s.copied[t], c.at)
		}
	}
	return s
}

// candidate is a member that has a copy of a task: one that it is assigned (1), or one left on its disk (0).
type candidate struct {
	at       place
	assigned int
	offset   int64
}

func collect(candidates map[task][]candidate, m *Member, offsets map[task]int64, at place) {
	m.Assigned.Standby.each(func(sub string, n, _ int32) {
		t := task{sub, n}
		candidates[t] = append(candidates[t], candidate{at, 1, offsets[t]})
	})
	for t, offset := range offsets {
		if !m.Assigned.Standby.has(t.subtopology, t.n) {
			candidates[t] = append(candidates[t], candidate{at, 0, offset})
		}
	}
}

func byNumber(a, b task) int {
	return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.subtopology, b.subtopology))
}

func bySubtopology(a, b task) int {
	return cmp.Or(cmp.Compare(a.subtopology, b.subtopology), cmp.Compare(a.n, b.n))
}

func backwards(f func(a, b task) int) func(a, b task) int {
	return func(a, b task) int { return f(b, a) }
}

// give hands a task to a member and lets the quotas follow.
func (s *stickiness) give(at place, t task, active bool) {
	n := at.process.add(at.process.worker(at.member), t, active)
	if active {
		s.activeQuota.filled(n)
	}
	s.totalQuota.filled(n)
}

// assignActive gives each task one member that runs it.
func (s *stickiness) assignActive() {
	tasks := slices.SortedFunc(slices.Values(s.activeTasks), byNumber)
	keep := func(where func(task) (place, bool)) {
		tasks = slices.DeleteFunc(tasks, func(t task) bool {
			at, ok := where(t)
			if !ok || at.process.worker(at.member).count >= s.activeQuota.each {
				return false
			}
			s.give(at, t, true)
			return true
		})
	}
	keep(func(t task) (place, bool) { at, ok := s.ran[t]; return at, ok })
	keep(func(t task) (place, bool) { return leastLoaded(s.copied[t], nil) })

	slices.SortFunc(tasks, bySubtopology)
	q := s.queue()
	for _, t := range tasks {
		p := heap.Pop(q).(*process)
		s.give(place{p, p.least().id}, t, true)
		heap.Push(q, p)
	}
}

// queue has the processes with the least to do first.
func (s *stickiness) queue() *processQueue {
	q := &processQueue{}
	for _, p := range s.processes {
		heap.Push(q, p)
	}
	return q
}

// leastLoaded is the best of the members; skip, if it is not nil, leaves out processes that have a task already. As in
// Kafka one is better only if both it and its process have less to do.
func leastLoaded(places []place, skip *task) (best place, ok bool) {
	var load float64
	var count int
	for _, at := range places {
		if skip != nil && at.process.has(*skip) {
			continue
		}
		l, n := at.process.load(), at.process.worker(at.member).count
		if !ok || l < load && n < count {
			best, load, count, ok = at, l, n, true
		}
	}
	return best, ok
}

// standbyLeft is how many copies of a task are still to be placed.
type standbyLeft struct {
	task
	copies int
}

// assignStandby places copies: where the task ran, where copies are, then where there is least to do.
func (s *stickiness) assignStandby() {
	var left []standbyLeft
	for _, t := range slices.SortedFunc(slices.Values(s.statefulTasks), backwards(byNumber)) {
		placed := 0
		for placed < s.standbys && s.keepStandby(t) {
			placed++
		}
		left = append(left, standbyLeft{t, s.standbys - placed})
	}
	slices.SortFunc(left, func(a, b standbyLeft) int { return bySubtopology(b.task, a.task) })
	q := s.queue()
	for _, x := range left {
		for range x.copies {
			if !s.placeStandby(q, x.task) {
				break // more copies than processes
			}
		}
	}
}

// keepStandby gives a copy to a member that has the task's state, if it has room.
func (s *stickiness) keepStandby(t task) bool {
	hasRoom := func(at place) bool { return at.process.worker(at.member).count < s.totalQuota.each }
	if at, ok := s.ran[t]; ok && !at.process.has(t) && hasRoom(at) {
		s.give(at, t, false)
		return true
	}
	at, ok := leastLoaded(s.copied[t], &t)
	if !ok || !hasRoom(at) {
		return false
	}
	s.give(at, t, false)
	return true
}

// placeStandby gives a copy to the process with the least to do that has not got the task.
func (s *stickiness) placeStandby(q *processQueue, t task) bool {
	var passed []*process
	found := false
	for q.Len() > 0 && !found {
		p := heap.Pop(q).(*process)
		passed = append(passed, p)
		if found = !p.has(t); found {
			s.give(place{p, p.least().id}, t, false)
		}
	}
	for _, p := range slices.Backward(passed) {
		heap.Push(q, p)
	}
	return found
}
