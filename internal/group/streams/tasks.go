package streams

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Tasks are the numbers of tasks by subtopology; a task reads the partition of its number of each of the subtopology's
// topics. Each active task stands with the assignment epoch since which a member has it, others with 0. Inner maps are
// never empty.
type Tasks map[string]map[int32]int32

func (t Tasks) has(subtopology string, n int32) bool {
	_, ok := t[subtopology][n]
	return ok
}

func (t Tasks) put(subtopology string, n, epoch int32) {
	if t[subtopology] == nil {
		t[subtopology] = map[int32]int32{}
	}
	t[subtopology][n] = epoch
}

func (t Tasks) remove(subtopology string, n int32) {
	delete(t[subtopology], n)
	if len(t[subtopology]) == 0 {
		delete(t, subtopology)
	}
}

func (t Tasks) equal(o Tasks) bool { return maps.EqualFunc(t, o, maps.Equal) }

// each calls f for every task, in order.
func (t Tasks) each(f func(subtopology string, n, epoch int32)) {
	for _, s := range slices.Sorted(maps.Keys(t)) {
		for _, n := range slices.Sorted(maps.Keys(t[s])) {
			f(s, n, t[s][n])
		}
	}
}

// Subtopologies calls f for every subtopology with its tasks and their epochs, in order.
func (t Tasks) Subtopologies(f func(subtopology string, numbers, epochs []int32)) {
	for _, s := range slices.Sorted(maps.Keys(t)) {
		numbers := slices.Sorted(maps.Keys(t[s]))
		epochs := make([]int32, len(numbers))
		for i, n := range numbers {
			epochs[i] = t[s][n]
		}
		f(s, numbers, epochs)
	}
}

// intersects reports whether a task is in both.
func (t Tasks) intersects(o Tasks) bool {
	for s, ns := range t {
		for n := range ns {
			if o.has(s, n) {
				return true
			}
		}
	}
	return false
}

// within reports whether all are in o.
func (t Tasks) within(o Tasks) bool {
	for s, ns := range t {
		for n := range ns {
			if !o.has(s, n) {
				return false
			}
		}
	}
	return true
}

// union are the tasks of both.
func (t Tasks) union(o Tasks) Tasks {
	out := Tasks{}
	t.each(out.put)
	o.each(out.put)
	return out
}

// since are the same tasks, all held since an epoch.
func (t Tasks) since(epoch int32) Tasks {
	out := Tasks{}
	t.each(func(s string, n, _ int32) { out.put(s, n, epoch) })
	return out
}

// Wire is the form in which answers name tasks; never nil.
func (t Tasks) Wire() []kmsg.TaskIDs {
	out := []kmsg.TaskIDs{}
	t.Subtopologies(func(s string, numbers, _ []int32) {
		x := kmsg.NewTaskIDs()
		x.SubtopologyID, x.Partitions = s, numbers
		out = append(out, x)
	})
	return out
}

// tasksIn reads the form in which requests name tasks.
func tasksIn(in []kmsg.TaskIDs) Tasks {
	out := Tasks{}
	for _, t := range in {
		for _, n := range t.Partitions {
			out.put(t.SubtopologyID, n, 0)
		}
	}
	return out
}

// Assignment is what a member runs (active), keeps a copy of (standby), and makes a copy of in order to run it
// (warmup).
type Assignment struct{ Active, Standby, Warmup Tasks }

// NewAssignment is one of nothing.
func NewAssignment() Assignment { return Assignment{Tasks{}, Tasks{}, Tasks{}} }

func (a Assignment) equal(o Assignment) bool {
	return a.Active.equal(o.Active) && a.Standby.equal(o.Standby) && a.Warmup.equal(o.Warmup)
}

func (a Assignment) empty() bool {
	return len(a.Active) == 0 && len(a.Standby) == 0 && len(a.Warmup) == 0
}

func (a Assignment) intersects(o Assignment) bool {
	return a.Active.intersects(o.Active) || a.Standby.intersects(o.Standby) || a.Warmup.intersects(o.Warmup)
}

func (a Assignment) within(o Assignment) bool {
	return a.Active.within(o.Active) && a.Standby.within(o.Standby) && a.Warmup.within(o.Warmup)
}

func (a Assignment) union(o Assignment) Assignment {
	return Assignment{a.Active.union(o.Active), a.Standby.union(o.Standby), a.Warmup.union(o.Warmup)}
}

// sameTasks compares without the epochs.
func (a Assignment) sameTasks(o Assignment) bool {
	return a.Active.since(0).equal(o.Active.since(0)) && a.Standby.equal(o.Standby) && a.Warmup.equal(o.Warmup)
}

// Owned is what a member says that it holds; nil when it does not say.
type Owned = *Assignment

// ownedIn reads it from a request, which names all kinds of tasks or none.
func ownedIn(req *kmsg.StreamsGroupHeartbeatRequest) Owned {
	if req.ActiveTasks == nil || req.StandbyTasks == nil || req.WarmupTasks == nil {
		return nil
	}
	return &Assignment{tasksIn(req.ActiveTasks), tasksIn(req.StandbyTasks), tasksIn(req.WarmupTasks)}
}

// holdsAny reports whether a task of a is among what a member owns. Who does not say may hold all.
func holdsAny(o Owned, a Assignment) bool { return o == nil || o.intersects(a) }
