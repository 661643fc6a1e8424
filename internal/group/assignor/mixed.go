package assignor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/samsalog/samsa/record"
)

// mixed is an assignment in the making, of members with different subscriptions. Members are named by their place.
type mixed struct {
	members []Member
	// subscribers are the members of each topic, owned the partitions of each member by topic, load their number.
	subscribers map[record.UUID][]int
	owned       []map[record.UUID][]int32
	load        []int
}

// uniformMixed keeps what members had, gives the rest to whoever has least, those that fewest can read first, and then
// evens out: a member gives a partition to one who gives another on, and so forth, as long as the last of such a chain
// has at least two less than the first (ASSIGN-3).
func uniformMixed(s Spec) Assignment {
	x := &mixed{members: s.sorted(), subscribers: map[record.UUID][]int{}}
	x.owned, x.load = make([]map[record.UUID][]int32, len(x.members)), make([]int, len(x.members))
	taken := map[topicPartition]struct{}{}
	for i, m := range x.members {
		x.owned[i] = map[record.UUID][]int32{}
		for _, t := range m.Topics {
			x.subscribers[t] = append(x.subscribers[t], i)
		}
		for _, tp := range claim(m, slices.SortedFunc(slices.Values(m.Topics), compareUUID), s.Partitions, taken) {
			x.take(i, tp)
		}
	}
	for _, t := range x.rarestFirst() {
		for p := range s.Partitions[t] {
			if _, ok := taken[topicPartition{t, p}]; !ok {
				x.take(x.poorest(x.subscribers[t]), topicPartition{t, p})
			}
		}
	}
	for x.evenOut() {
	}
	out := make(Assignment, len(x.members))
	for i, m := range x.members {
		out[m.ID] = Partitions(x.owned[i])
	}
	return out.sort()
}

func (x *mixed) take(i int, tp topicPartition) {
	x.owned[i][tp.topic] = append(x.owned[i][tp.topic], tp.partition)
	x.load[i]++
}

func (x *mixed) rarestFirst() []record.UUID {
	return slices.SortedFunc(maps.Keys(x.subscribers), func(a, b record.UUID) int {
		return cmp.Or(cmp.Compare(len(x.subscribers[a]), len(x.subscribers[b])), compareUUID(a, b))
	})
}

func (x *mixed) poorest(of []int) int {
	return slices.MinFunc(of, func(a, b int) int { return cmp.Or(cmp.Compare(x.load[a], x.load[b]), cmp.Compare(a, b)) })
}

// evenOut makes one member's count smaller and another's, at least two less, larger; false if there are no such two.
// The sum of squares of the counts falls each time, so this ends.
func (x *mixed) evenOut() bool {
	order := make([]int, len(x.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x.load[b], x.load[a]) })
	for _, from := range order {
		if x.shift(from) {
			return true
		}
	}
	return false
}

// step is how a member is reached: from whom, and through a partition of which topic.
type step struct {
	from  int
	topic record.UUID
}

// shift looks for the shortest chain from a rich member to one who has two less, and moves a partition along each of
// its links.
func (x *mixed) shift(rich int) bool {
	reached := map[int]step{rich: {from: -1}}
	seen := map[record.UUID]struct{}{}
	for queue := []int{rich}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if x.load[at] <= x.load[rich]-2 {
			x.moveAlong(reached, at)
			return true
		}
		for _, t := range slices.SortedFunc(maps.Keys(x.owned[at]), compareUUID) {
			if _, done := seen[t]; done || len(x.owned[at][t]) == 0 {
				continue
			}
			seen[t] = struct{}{} // whoever can be reached through the topic is reached now
			for _, to := range x.subscribers[t] {
				if _, ok := reached[to]; !ok {
					reached[to] = step{at, t}
					queue = append(queue, to)
				}
			}
		}
	}
	return false
}

func (x *mixed) moveAlong(reached map[int]step, to int) {
	for s := reached[to]; s.from >= 0; to, s = s.from, reached[s.from] {
		parts := x.owned[s.from][s.topic]
		last := len(parts) - 1
		x.owned[s.from][s.topic] = parts[:last]
		x.load[s.from]--
		if last == 0 {
			delete(x.owned[s.from], s.topic)
		}
		x.take(to, topicPartition{s.topic, parts[last]})
	}
}
