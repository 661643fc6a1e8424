package assignor

import (
	"cmp"
	"slices"

	"github.com/samsalog/samsa/record"
)

// Uniform gives every member as many partitions as any other, as far as subscriptions allow, and moves as few as that
// takes.
func Uniform(s Spec) Assignment {
	if s.homogeneous() {
		return uniformEqual(s)
	}
	return uniformMixed(s)
}

type topicPartition struct {
	topic     record.UUID
	partition int32
}

// uniformEqual is for members that all subscribe to the same topics. Each keeps what it had up to its share; shares
// of one more go to those who have more already, and what is left over fills the others.
func uniformEqual(s Spec) Assignment {
	members, out := s.sorted(), make(Assignment, len(s.Members))
	if len(members) == 0 {
		return out
	}
	subscribed := Spec{Partitions: map[record.UUID]int32{}}
	total := 0
	for _, t := range members[0].Topics {
		subscribed.Partitions[t] = s.Partitions[t]
		total += int(s.Partitions[t])
	}
	topics := subscribed.topics()
	taken, had := map[topicPartition]struct{}{}, make([][]topicPartition, len(members))
	for i, m := range members {
		had[i] = claim(m, topics, subscribed.Partitions, taken)
	}
	share := shares(had, total)
	kept := map[topicPartition]struct{}{}
	for i, m := range members {
		out[m.ID] = Partitions{}
		for _, tp := range had[i][:min(share[i], len(had[i]))] {
			out.give(m.ID, tp)
			kept[tp] = struct{}{}
		}
		share[i] -= min(share[i], len(had[i]))
	}
	next := 0
	for _, t := range topics {
		for p := range subscribed.Partitions[t] {
			tp := topicPartition{t, p}
			if _, ok := kept[tp]; ok {
				continue
			}
			for share[next] == 0 {
				next++
			}
			share[next]--
			out.give(members[next].ID, tp)
		}
	}
	return out.sort()
}

// claim lists what a member was given last and may keep, in order. What another has claimed already is left out.
func claim(m Member, topics []record.UUID, partitions map[record.UUID]int32, taken map[topicPartition]struct{}) []topicPartition {
	var out []topicPartition
	for _, t := range topics {
		for _, p := range slices.Sorted(slices.Values(m.Assigned[t])) {
			tp := topicPartition{t, p}
			if _, gone := taken[tp]; gone || p < 0 || p >= partitions[t] {
				continue
			}
			taken[tp] = struct{}{}
			out = append(out, tp)
		}
	}
	return out
}

// shares divides total partitions. The larger shares go to the members that have most.
func shares(had [][]topicPartition, total int) []int {
	order := make([]int, len(had))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(had[b]), len(had[a])) })
	share := make([]int, len(had))
	for rank, i := range order {
		share[i] = total / len(had)
		if rank < total%len(had) {
			share[i]++
		}
	}
	return share
}

func (a Assignment) give(id string, tp topicPartition) {
	a[id][tp.topic] = append(a[id][tp.topic], tp.partition)
}
