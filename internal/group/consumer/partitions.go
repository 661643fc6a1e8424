package consumer

import (
	"bytes"
	"maps"
	"slices"

	"github.com/samsalog/samsa/record"
)

// Partitions are partitions by topic, each with the assignment epoch since which a member has it. Inner maps are
// never empty.
type Partitions map[record.UUID]map[int32]int32

func (p Partitions) has(topic record.UUID, partition int32) bool {
	_, ok := p[topic][partition]
	return ok
}

func (p Partitions) put(topic record.UUID, partition, epoch int32) {
	if p[topic] == nil {
		p[topic] = map[int32]int32{}
	}
	p[topic][partition] = epoch
}

func (p Partitions) equal(o Partitions) bool { return maps.EqualFunc(p, o, maps.Equal) }

// each calls f for every partition, in order.
func (p Partitions) each(f func(topic record.UUID, partition, epoch int32)) {
	for _, t := range sortedIDs(p) {
		for _, x := range slices.Sorted(maps.Keys(p[t])) {
			f(t, x, p[t][x])
		}
	}
}

// union are all partitions of both; none is in both.
func (p Partitions) union(o Partitions) Partitions {
	out := Partitions{}
	for _, x := range []Partitions{p, o} {
		x.each(out.put)
	}
	return out
}

// since are the same partitions, all held since an epoch.
func (p Partitions) since(epoch int32) Partitions {
	out := Partitions{}
	p.each(func(t record.UUID, x, _ int32) { out.put(t, x, epoch) })
	return out
}

func sortedIDs[V any](m map[record.UUID]V) []record.UUID {
	return slices.SortedFunc(maps.Keys(m), func(a, b record.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// Owned is what a member says it holds; nil when it does not say.
type Owned map[record.UUID][]int32

// anyOf reports whether a partition of p is among them. Who does not say may hold all.
func (o Owned) anyOf(p Partitions) bool {
	if o == nil {
		return true
	}
	for t, xs := range o {
		for _, x := range xs {
			if p.has(t, x) {
				return true
			}
		}
	}
	return false
}

// within reports whether all are in p; false when the member does not say.
func (o Owned) within(p Partitions) bool {
	if o == nil {
		return false
	}
	for t, xs := range o {
		for _, x := range xs {
			if !p.has(t, x) {
				return false
			}
		}
	}
	return true
}

// Topics calls f for every topic with its partitions, in order.
func (p Partitions) Topics(f func(topic record.UUID, partitions []int32)) {
	for _, t := range sortedIDs(p) {
		f(t, slices.Sorted(maps.Keys(p[t])))
	}
}
