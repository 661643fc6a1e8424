package assignor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/record"
)

var (
	t1 = record.UUID{1}
	t2 = record.UUID{2}
	t3 = record.UUID{3}
)

func instance(s string) *string { return &s }

func TestTables(t *testing.T) {
	both := []record.UUID{t1, t2}
	for _, c := range []struct {
		name   string
		assign Assignor
		spec   Spec
		want   Assignment
	}{
		{"nobody", Uniform, Spec{}, Assignment{}},
		{"one gets all", Uniform, Spec{Members: []Member{{ID: "a", Topics: both}}, Partitions: map[record.UUID]int32{t1: 2, t2: 1}},
			Assignment{"a": {t1: {0, 1}, t2: {0}}}},
		{"nothing subscribed", Uniform, Spec{Members: []Member{{ID: "a"}}}, Assignment{"a": {}}},
		{"the second takes the last", Uniform, Spec{
			Members:    []Member{{ID: "a", Topics: []record.UUID{t1}, Assigned: Partitions{t1: {0, 1}}}, {ID: "b", Topics: []record.UUID{t1}}},
			Partitions: map[record.UUID]int32{t1: 2}}, Assignment{"a": {t1: {0}}, "b": {t1: {1}}}},
		{"the richer keeps the odd one", Uniform, Spec{
			Members: []Member{
				{ID: "a", Topics: []record.UUID{t1}, Assigned: Partitions{t1: {0}}},
				{ID: "b", Topics: []record.UUID{t1}, Assigned: Partitions{t1: {1, 2}}},
			}, Partitions: map[record.UUID]int32{t1: 3}}, Assignment{"a": {t1: {0}}, "b": {t1: {1, 2}}}},
		{"claimed twice counts once", Uniform, Spec{
			Members: []Member{
				{ID: "a", Topics: []record.UUID{t1}, Assigned: Partitions{t1: {0, 9}}},
				{ID: "b", Topics: []record.UUID{t1}, Assigned: Partitions{t1: {0}}},
			}, Partitions: map[record.UUID]int32{t1: 2}}, Assignment{"a": {t1: {0}}, "b": {t1: {1}}}},
		{"mixed: through a third", Uniform, Spec{
			Members: []Member{
				{ID: "a", Topics: []record.UUID{t1}, Assigned: Partitions{t1: {0, 1}}},
				{ID: "b", Topics: both, Assigned: Partitions{t2: {0}}},
				{ID: "c", Topics: []record.UUID{t2}},
			}, Partitions: map[record.UUID]int32{t1: 2, t2: 1}}, Assignment{"a": {t1: {0}}, "b": {t1: {1}}, "c": {t2: {0}}}},
		{"mixed: one who reads nothing", Uniform, Spec{
			Members:    []Member{{ID: "a", Topics: []record.UUID{t1}}, {ID: "b"}},
			Partitions: map[record.UUID]int32{t1: 2}}, Assignment{"a": {t1: {0, 1}}, "b": {}}},
		{"range: alike in both topics", Range, Spec{
			Members:    []Member{{ID: "b", Topics: both}, {ID: "a", Topics: both}},
			Partitions: map[record.UUID]int32{t1: 3, t2: 3}}, Assignment{"a": {t1: {0, 1}, t2: {0, 1}}, "b": {t1: {2}, t2: {2}}}},
		{"range: more members than partitions", Range, Spec{
			Members:    []Member{{ID: "a", Topics: []record.UUID{t1}}, {ID: "b", Topics: []record.UUID{t1}}},
			Partitions: map[record.UUID]int32{t1: 1}}, Assignment{"a": {t1: {0}}, "b": {}}},
		{"range: static members first", Range, Spec{
			Members: []Member{
				{ID: "a", Topics: []record.UUID{t1}}, {ID: "z", InstanceID: instance("1"), Topics: []record.UUID{t1}},
				{ID: "b", InstanceID: instance("2"), Topics: []record.UUID{t1}},
			}, Partitions: map[record.UUID]int32{t1: 3}}, Assignment{"z": {t1: {0}}, "b": {t1: {1}}, "a": {t1: {2}}}},
		{"range: each topic among its own", Range, Spec{
			Members:    []Member{{ID: "a", Topics: both}, {ID: "b", Topics: []record.UUID{t2}}},
			Partitions: map[record.UUID]int32{t1: 2, t2: 2}}, Assignment{"a": {t1: {0, 1}, t2: {0}}, "b": {t2: {1}}}},
	} {
		if got := c.assign(c.spec); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %v\nwant %v", c.name, got, c.want)
		}
	}
	if _, ok := ByName("sticky"); ok {
		t.Error("there is an assignor named sticky")
	}
}

// specs draws groups whose members hold what an earlier, other group was given.
func specs(rt *rapid.T, equal bool) Spec {
	topics := []record.UUID{t1, t2, t3}
	s := Spec{Partitions: map[record.UUID]int32{}}
	for _, t := range topics {
		s.Partitions[t] = rapid.Int32Range(0, 7).Draw(rt, "partitions")
	}
	all := rapid.SliceOfDistinct(rapid.SampledFrom(topics), func(u record.UUID) record.UUID { return u }).Draw(rt, "topics")
	for i := range rapid.IntRange(1, 6).Draw(rt, "members") {
		m := Member{ID: fmt.Sprint("m", i), Topics: all, Assigned: Partitions{}}
		if !equal {
			m.Topics = rapid.SliceOfDistinct(rapid.SampledFrom(topics), func(u record.UUID) record.UUID { return u }).Draw(rt, "its topics")
		}
		if rapid.Bool().Draw(rt, "static") {
			m.InstanceID = instance(fmt.Sprint("i", 9-i))
		}
		for _, t := range topics {
			for p := range int32(8) {
				if rapid.IntRange(0, 3).Draw(rt, "had") == 0 {
					m.Assigned[t] = append(m.Assigned[t], p)
				}
			}
		}
		s.Members = append(s.Members, m)
	}
	return s
}

// checkOwners tests ASSIGN-1 and ASSIGN-2.
func checkOwners(rt *rapid.T, assign Assignor, s Spec) Assignment {
	a := assign(s)
	subscribed, owner := map[record.UUID]bool{}, map[topicPartition]string{}
	for _, m := range s.Members {
		for _, t := range m.Topics {
			subscribed[t] = true
		}
		if a[m.ID] == nil {
			rt.Fatalf("%s has no entry", m.ID)
		}
		for t, ps := range a[m.ID] {
			if !slices.Contains(m.Topics, t) || !slices.IsSorted(ps) || len(ps) == 0 {
				rt.Fatalf("%s gets %v of %v, and subscribes to %v", m.ID, ps, t, m.Topics)
			}
			for _, p := range ps {
				tp := topicPartition{t, p}
				if owner[tp] != "" || p < 0 || p >= s.Partitions[t] {
					rt.Fatalf("%v is given to %s and %q", tp, m.ID, owner[tp])
				}
				owner[tp] = m.ID
			}
		}
	}
	for t := range subscribed {
		for p := range s.Partitions[t] {
			if owner[topicPartition{t, p}] == "" {
				rt.Fatalf("nobody gets %v-%d", t, p)
			}
		}
	}
	shuffled := Spec{Members: slices.Clone(s.Members), Partitions: s.Partitions}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(s.Members), func(i, j int) {
		shuffled.Members[i], shuffled.Members[j] = shuffled.Members[j], shuffled.Members[i]
	})
	if b := assign(shuffled); !reflect.DeepEqual(a, b) {
		rt.Fatalf("the order of members matters:\n%v\n%v", a, b)
	}
	return a
}

func count(p Partitions) int {
	n := 0
	for _, ps := range p {
		n += len(ps)
	}
	return n
}

func TestUniformEqual(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := specs(rt, true)
		a := checkOwners(rt, Uniform, s)
		counts := make([]int, 0, len(a))
		for _, p := range a {
			counts = append(counts, count(p))
		}
		if slices.Max(counts)-slices.Min(counts) > 1 {
			rt.Fatalf("unbalanced: %v", a)
		}
		// ASSIGN-4: assigned again, nobody moves; and when one joins, partitions only move to it.
		again := s
		again.Members = slices.Clone(s.Members)
		for i, m := range again.Members {
			again.Members[i].Assigned = a[m.ID]
		}
		if b := Uniform(again); !reflect.DeepEqual(a, b) {
			rt.Fatalf("moved without need:\n%v\n%v", a, b)
		}
		again.Members = append(again.Members, Member{ID: "new", Topics: s.Members[0].Topics})
		for id, p := range Uniform(again) {
			for topic, ps := range p {
				for _, x := range ps {
					if id != "new" && !slices.Contains(a[id][topic], x) {
						rt.Fatalf("%s got %v-%d when another joined", id, topic, x)
					}
				}
			}
		}
	})
}

func TestUniformMixed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := specs(rt, false)
		a := checkOwners(rt, uniformMixed, s)
		// ASSIGN-3, the chains of one link: no partition could go to somebody with two less.
		for _, m := range s.Members {
			for topic := range a[m.ID] {
				for _, o := range s.Members {
					if slices.Contains(o.Topics, topic) && count(a[o.ID]) < count(a[m.ID])-1 {
						rt.Fatalf("%s has %d and %s %d of %v: %v", m.ID, count(a[m.ID]), o.ID, count(a[o.ID]), topic, a)
					}
				}
			}
		}
	})
}

// The two ways to assign agree on the counts where both apply.
func TestUniformWaysAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := specs(rt, true)
		counts := func(a Assignment) []int {
			var out []int
			for _, id := range slices.Sorted(maps.Keys(a)) {
				out = append(out, count(a[id]))
			}
			slices.Sort(out)
			return out
		}
		if x, y := counts(uniformEqual(s)), counts(uniformMixed(s)); !slices.Equal(x, y) {
			rt.Fatalf("%v and %v", x, y)
		}
	})
}

func TestRange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := specs(rt, rapid.Bool().Draw(rt, "equal"))
		a := checkOwners(rt, Range, s)
		for id, p := range a {
			for topic, ps := range p {
				if int(ps[len(ps)-1]-ps[0]) != len(ps)-1 {
					rt.Fatalf("%s gets %v of %v, which is no range", id, ps, topic)
				}
			}
		}
	})
}
