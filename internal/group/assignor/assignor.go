package assignor

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/samsalog/samsa/record"
)

// The names of the assignors.
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// Partitions are partitions by topic, in ascending order. Topics without partitions are left out.
type Partitions map[record.UUID][]int32

// Assignment is what each member gets, by member id.
type Assignment map[string]Partitions

// Member is one member of a group as an assignor sees it.
type Member struct {
	ID string
	// InstanceID is that of a static member, nil for a dynamic one.
	InstanceID *string
	// Topics are the topics that exist and that the member subscribes to, each once.
	Topics []record.UUID
	// Assigned is what the last assignment gave to it.
	Assigned Partitions
}

// Spec is what an assignment is made of.
type Spec struct {
	Members []Member
	// Partitions is the number of partitions of each topic in Members.
	Partitions map[record.UUID]int32
}

// Assignor makes an assignment.
type Assignor func(Spec) Assignment

// ByName returns an assignor; false if there is none of that name.
func ByName(name string) (Assignor, bool) {
	switch name {
	case UniformName:
		return Uniform, true
	case RangeName:
		return Range, true
	}
	return nil, false
}

func compareUUID(a, b record.UUID) int { return bytes.Compare(a[:], b[:]) }

// topics are the topics of a Spec in a fixed order.
func (s Spec) topics() []record.UUID {
	return slices.SortedFunc(maps.Keys(s.Partitions), compareUUID)
}

// sorted are the members by id.
func (s Spec) sorted() []Member {
	return slices.SortedFunc(slices.Values(s.Members), func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
}

// homogeneous reports whether all members subscribe to the same topics.
func (s Spec) homogeneous() bool {
	if len(s.Members) == 0 {
		return true
	}
	first := make(map[record.UUID]struct{}, len(s.Members[0].Topics))
	for _, t := range s.Members[0].Topics {
		first[t] = struct{}{}
	}
	for _, m := range s.Members[1:] {
		if len(m.Topics) != len(first) {
			return false
		}
		for _, t := range m.Topics {
			if _, ok := first[t]; !ok {
				return false
			}
		}
	}
	return true
}

// sort puts the partitions of every member in order.
func (a Assignment) sort() Assignment {
	for _, topics := range a {
		for t := range topics {
			slices.Sort(topics[t])
		}
	}
	return a
}
