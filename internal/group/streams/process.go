package streams

import "slices"

// worker is a member while tasks are assigned.
type worker struct {
	id              string
	active, standby Tasks
	count           int
}

// process is an instance of an application, whose members share their state.
type process struct {
	id string
	// members are in the order of their ids.
	members []*worker
	tasks   map[task]struct{}
	count   int
}

func (p *process) has(t task) bool { _, ok := p.tasks[t]; return ok }

// load is how many tasks there are for each member.
func (p *process) load() float64 { return float64(p.count) / float64(len(p.members)) }

func (p *process) worker(id string) *worker {
	i, _ := slices.BinarySearchFunc(p.members, id, func(w *worker, id string) int {
		switch {
		case w.id < id:
			return -1
		case w.id > id:
			return 1
		}
		return 0
	})
	return p.members[i]
}

// least is the member with the fewest tasks, the first of them.
func (p *process) least() *worker {
	return slices.MinFunc(p.members, func(a, b *worker) int { return a.count - b.count })
}

// add gives a task to a member and returns how many it has then.
func (p *process) add(w *worker, t task, active bool) int {
	p.tasks[t] = struct{}{}
	p.count++
	w.count++
	if active {
		w.active.put(t.subtopology, t.n, 0)
	} else {
		w.standby.put(t.subtopology, t.n, 0)
	}
	return w.count
}

// processQueue is a heap of processes, the one with the least to do first.
type processQueue []*process

func (q processQueue) Len() int           { return len(q) }
func (q processQueue) Less(i, j int) bool { return q[i].load() < q[j].load() }
func (q processQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *processQueue) Push(x any)        { *q = append(*q, x.(*process)) }
func (q *processQueue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	*q = (*q)[:last]
	return p
}
