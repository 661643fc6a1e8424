package streams

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Role is how a member has a task: it runs it, keeps a copy of its state, or makes a copy in order to run it.
type Role int8

// The roles, in the order in which requests, answers and records list them.
const (
	Active Role = iota
	Standby
	Warmup
)

// task names one task of a subtopology: the one that reads the partitions of its number.
type task struct {
	subtopology string
	n           int32
}

func compareTasks(a, b task) int {
	return cmp.Or(strings.Compare(a.subtopology, b.subtopology), cmp.Compare(a.n, b.n))
}

// slot is a task in a role.
type slot struct {
	Role
	task
}

// Assignment is what a member has or shall have: tasks in their roles, each with the assignment epoch since which it
// has it; 0 where that is not known, and for copies always.
type Assignment map[slot]int32

func (a Assignment) has(r Role, t task) bool { _, ok := a[slot{r, t}]; return ok }

// roleOf is the role in which a task is there.
func (a Assignment) roleOf(t task) (Role, bool) {
	for r := Active; r <= Warmup; r++ {
		if a.has(r, t) {
			return r, true
		}
	}
	return 0, false
}

func (a Assignment) equal(o Assignment) bool { return maps.Equal(a, o) }

// within reports whether all of it is in o.
func (a Assignment) within(o Assignment) bool {
	for s := range a {
		if _, ok := o[s]; !ok {
			return false
		}
	}
	return true
}

// meets reports whether some of it is in o.
func (a Assignment) meets(o Assignment) bool {
	for s := range a {
		if _, ok := o[s]; ok {
			return true
		}
	}
	return false
}

// undated is the same without epochs.
func (a Assignment) undated() Assignment {
	out := make(Assignment, len(a))
	for s := range a {
		out[s] = 0
	}
	return out
}

// portion is what there is of one subtopology in one role: the numbers of its tasks in order, with their epochs.
type portion struct {
	subtopology     string
	numbers, epochs []int32
}

// portions are those of a role, in the order of subtopologies.
func (a Assignment) portions(r Role) []portion {
	var tasks []task
	for s := range a {
		if s.Role == r {
			tasks = append(tasks, s.task)
		}
	}
	slices.SortFunc(tasks, compareTasks)
	var out []portion
	for _, t := range tasks {
		if len(out) == 0 || out[len(out)-1].subtopology != t.subtopology {
			out = append(out, portion{subtopology: t.subtopology})
		}
		p := &out[len(out)-1]
		p.numbers, p.epochs = append(p.numbers, t.n), append(p.epochs, a[slot{r, t}])
	}
	return out
}

// Tasks are those of a role as answers name them; never nil.
func (a Assignment) Tasks(r Role) []kmsg.TaskIDs {
	out := []kmsg.TaskIDs{}
	for _, p := range a.portions(r) {
		x := kmsg.NewTaskIDs()
		x.SubtopologyID, x.Partitions = p.subtopology, p.numbers
		out = append(out, x)
	}
	return out
}

// ownedIn is what a member says that it holds; nil when it does not say. A request names all kinds of tasks or none.
func ownedIn(req *kmsg.StreamsGroupHeartbeatRequest) Assignment {
	if req.ActiveTasks == nil || req.StandbyTasks == nil || req.WarmupTasks == nil {
		return nil
	}
	out := Assignment{}
	for r, list := range [][]kmsg.TaskIDs{req.ActiveTasks, req.StandbyTasks, req.WarmupTasks} {
		for _, t := range list {
			for _, n := range t.Partitions {
				out[slot{Role(r), task{t.SubtopologyID, n}}] = 0
			}
		}
	}
	return out
}
