package share

import (
	"bytes"
	"maps"
	"slices"

	"github.com/samsalog/samsa/record"
)

// Topic is some partitions of a topic, in ascending order.
type Topic struct {
	Name       string
	Partitions []int32
}

// Topics are partitions by topic. Topics without partitions are left out.
type Topics map[record.UUID]Topic

// Partitions are the share partitions of a group (record type 15).
type Partitions struct {
	// Known is set when there is a record.
	Known bool
	// Initializing are those whose state is being begun, or was when the beginning was broken off; Initialized those that
	// have a state and may be assigned.
	Initializing, Initialized Topics
	// Deleting are the names of topics whose states are being deleted, or were when that was broken off.
	Deleting map[record.UUID]string
}

func compareIDs(a, b record.UUID) int { return bytes.Compare(a[:], b[:]) }

// sortedIDs are topic ids in a fixed order.
func sortedIDs[V any](m map[record.UUID]V) []record.UUID {
	return slices.SortedFunc(maps.Keys(m), compareIDs)
}

// IDs are the ids of the topics, in order.
func (t Topics) IDs() []record.UUID { return sortedIDs(map[record.UUID]Topic(t)) }

// add puts a partition in its place.
func (t Topics) add(id record.UUID, name string, partitions ...int32) {
	x := Topic{name, append(slices.Clone(t[id].Partitions), partitions...)}
	slices.Sort(x.Partitions)
	x.Partitions = slices.Compact(x.Partitions)
	if len(x.Partitions) > 0 {
		t[id] = x
	}
}

// Plus are the partitions of both.
func (t Topics) Plus(o Topics) Topics {
	out := Topics{}
	maps.Copy(out, t)
	for id, x := range o {
		out.add(id, x.Name, x.Partitions...)
	}
	return out
}

// Minus are the partitions that o has not.
func (t Topics) Minus(o Topics) Topics {
	out := Topics{}
	for id, x := range t {
		gone := o[id].Partitions
		left := slices.DeleteFunc(slices.Clone(x.Partitions), func(p int32) bool { return slices.Contains(gone, p) })
		if len(left) > 0 {
			out[id] = Topic{x.Name, left}
		}
	}
	return out
}

func (t Topics) equal(o Topics) bool {
	return maps.EqualFunc(t, o, func(a, b Topic) bool { return a.Name == b.Name && slices.Equal(a.Partitions, b.Partitions) })
}

func (p Partitions) equal(o Partitions) bool {
	return p.Known == o.Known && p.Initializing.equal(o.Initializing) && p.Initialized.equal(o.Initialized) && maps.Equal(p.Deleting, o.Deleting)
}

// withoutTopics are the partitions of other topics than these.
func (p Partitions) withoutTopics(gone map[record.UUID]struct{}) Partitions {
	out := Partitions{Known: p.Known, Initializing: maps.Clone(p.Initializing), Initialized: maps.Clone(p.Initialized), Deleting: maps.Clone(p.Deleting)}
	for id := range gone {
		delete(out.Initializing, id)
		delete(out.Initialized, id)
		delete(out.Deleting, id)
	}
	return out
}
