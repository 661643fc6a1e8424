package assignor

import (
	"cmp"
	"slices"

	"github.com/samsalog/samsa/record"
)

// Range gives each subscriber of a topic a contiguous range of its partitions, the first ones one more where they do
// not divide evenly. Subscribers are ordered in the same way for every topic, so that topics with equally many
// partitions are divided alike and a join of them finds its records at one member. Static members come first, by
// instance id: what they get does not change when they come back under another member id.
func Range(s Spec) Assignment {
	members := slices.SortedFunc(slices.Values(s.Members), compareInstance)
	out := make(Assignment, len(members))
	subscribers := map[record.UUID][]string{}
	for _, m := range members {
		out[m.ID] = Partitions{}
		for _, t := range m.Topics {
			subscribers[t] = append(subscribers[t], m.ID)
		}
	}
	for t, ids := range subscribers {
		partitions, next := int(s.Partitions[t]), int32(0)
		for i, id := range ids {
			size := partitions / len(ids)
			if i < partitions%len(ids) {
				size++
			}
			for range size {
				out[id][t] = append(out[id][t], next)
				next++
			}
		}
	}
	return out
}

func compareInstance(a, b Member) int {
	switch {
	case a.InstanceID != nil && b.InstanceID != nil:
		return cmp.Or(cmp.Compare(*a.InstanceID, *b.InstanceID), cmp.Compare(a.ID, b.ID))
	case a.InstanceID != nil:
		return -1
	case b.InstanceID != nil:
		return 1
	}
	return cmp.Compare(a.ID, b.ID)
}
