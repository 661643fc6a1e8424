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
	b := balancing{readers: readers, places: places, room: quotas(readers, sharing*len(places), places), holders: make([][]int, len(places))}
	for i, r := range readers {
		for at, p := range places {
			if b.room[i] > 0 && len(b.holders[at]) < sharing && contains(r.had[p.topic], p.n) {
				b.give(i, at)
			}
		}
	}
	for at := range places {
		for len(b.holders[at]) < sharing {
			b.fill(at)
		}
	}
	for at, p := range places {
		for _, i := range b.holders[at] {
			readers[i].gets[p.topic] = append(readers[i].gets[p.topic], p.n)
		}
	}
}

// balancing is places that are being shared out.
type balancing struct {
	readers []*reader
	places  []place
	// room is how many more places each reader shall get.
	room []int
	// holders are the readers of each place.
	holders [][]int
}

func (b *balancing) give(reader, at int) {
	b.room[reader]--
	b.holders[at] = append(b.holders[at], reader)
}

func (b *balancing) holds(reader, at int) bool { return slices.Contains(b.holders[at], reader) }

// fill gives a place one more reader: the one with the most room. If all who have room read it already, one of them
// takes over another place of somebody who then has room. There is such a place: whoever has no room has at least as
// many places as somebody with room, and this one is not among them.
func (b *balancing) fill(at int) {
	best := -1
	for i := range b.readers {
		if b.room[i] > 0 && (best < 0 || b.room[i] > b.room[best]) && !b.holds(i, at) {
			best = i
		}
	}
	if best < 0 {
		best = b.makeRoom(at)
	}
	b.give(best, at)
}

// makeRoom finds a reader for a place by having him give another one away.
func (b *balancing) makeRoom(at int) int {
	taker := slices.IndexFunc(b.room, func(room int) bool { return room > 0 })
	for other, holders := range b.holders {
		if b.holds(taker, other) {
			continue
		}
		for n, giver := range holders {
			if !b.holds(giver, at) {
				holders[n] = taker
				b.room[taker]--
				b.room[giver]++
				return giver
			}
		}
	}
	panic("share: BUG: a partition cannot be shared out")
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
