package share

import (
	"cmp"
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/record"
)

// AssignorName is the one assignor that there is.
const AssignorName = "simple"

// reader is a member as the assignor sees it.
type reader struct {
	id     string
	topics map[record.UUID]struct{}
	// had is what the last assignment gave to it, gets what this one gives.
	had, gets assignor.Partitions
}

// place is one partition.
type place struct {
	topic record.UUID
	n     int32
}

// simple assigns every partition to as many readers as are needed so that each gets something, evenly, and leaves to them
// what they had as far as that allows (SimpleAssignor of Kafka). Where all read the same topics the partitions are
// balanced all together, else topic by topic among those who read it.
func simple(readers []*reader, assignable map[record.UUID][]int32) {
	for _, r := range readers {
		r.gets = assignor.Partitions{}
	}
	topics := slices.SortedFunc(maps.Keys(assignable), compareIDs)
	alike := !slices.ContainsFunc(readers, func(r *reader) bool { return len(r.topics) != len(topics) })
	var all []place
	for _, t := range topics {
		if !alike {
			all = all[:0]
		}
		for _, n := range assignable[t] {
			all = append(all, place{t, n})
		}
		if !alike {
			balance(slices.DeleteFunc(slices.Clone(readers), func(r *reader) bool { _, reads := r.topics[t]; return !reads }), all)
		}
	}
	if alike {
		balance(readers, all)
	}
	for _, r := range readers {
		for t := range r.gets {
			slices.Sort(r.gets[t])
		}
	}
}

// balance shares places out among readers who all may get any of them.
func balance(readers []*reader, places []place) {
	if len(places) == 0 || len(readers) == 0 {
		return
	}
	sharing := (len(readers) + len(places) - 1) / len(places)
	room := quotas(readers, sharing*len(places), places)
	holders := make([][]int, len(places))
	give := func(i, at int) {
		p := places[at]
		readers[i].gets[p.topic] = append(readers[i].gets[p.topic], p.n)
		room[i]--
		holders[at] = append(holders[at], i)
	}
	for i, r := range readers {
		for at, p := range places {
			if room[i] > 0 && len(holders[at]) < sharing && contains(r.had[p.topic], p.n) {
				give(i, at)
			}
		}
	}
	for at := range places {
		for len(holders[at]) < sharing {
			best := -1
			for i := range readers {
				if (best < 0 || room[i] > room[best]) && !slices.Contains(holders[at], i) {
					best = i
				}
			}
			give(best, at)
		}
	}
}

// quotas is how many of the total each reader shall get: whoever had more gets the one more that does not divide evenly.
func quotas(readers []*reader, total int, places []place) []int {
	had := make([]int, len(readers))
	order := make([]int, len(readers))
	for i, r := range readers {
		order[i] = i
		for _, p := range places {
			if contains(r.had[p.topic], p.n) {
				had[i]++
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(had[b], had[a]) })
	out := make([]int, len(readers))
	for at, i := range order {
		out[i] = total / len(readers)
		if at < total%len(readers) {
			out[i]++
		}
	}
	return out
}
