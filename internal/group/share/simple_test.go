package share

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/record"
)

func topicID(n int) record.UUID { return record.UUID{byte(n + 1)} }

func readerOf(id string, had assignor.Partitions, topics ...int) *reader {
	r := &reader{id: id, topics: map[record.UUID]struct{}{}, had: had}
	for _, t := range topics {
		r.topics[topicID(t)] = struct{}{}
	}
	return r
}

func upTo(n int) []int32 { return allOf(n) }

func total(p assignor.Partitions) (n int) {
	for _, x := range p {
		n += len(x)
	}
	return n
}

// As many readers as are needed get a partition, so that nobody is left without.
func TestMoreReadersThanPartitions(t *testing.T) {
	var readers []*reader
	for i := range 7 {
		readers = append(readers, readerOf(fmt.Sprint(i), nil, 0))
	}
	simple(readers, map[record.UUID][]int32{topicID(0): upTo(3)})
	holders := map[int32]int{}
	for _, r := range readers {
		for _, n := range r.gets[topicID(0)] {
			holders[n]++
		}
		if n := total(r.gets); n < 1 || n > 2 {
			t.Errorf("%s gets %d partitions", r.id, n)
		}
	}
	for n, h := range holders {
		if h != 3 {
			t.Errorf("partition %d has %d readers, want 3", n, h)
		}
	}
}

// Readers of other topics are balanced topic by topic: m1 reads a, m2 reads b, m3 reads both and gets half of each.
func TestReadersOfDifferentTopics(t *testing.T) {
	readers := []*reader{readerOf("m1", nil, 0), readerOf("m2", nil, 1), readerOf("m3", nil, 0, 1)}
	simple(readers, map[record.UUID][]int32{topicID(0): upTo(4), topicID(1): upTo(6)})
	for _, c := range []struct{ reader, topic, want int }{{0, 0, 2}, {1, 1, 3}, {2, 0, 2}, {2, 1, 3}, {0, 1, 0}, {1, 0, 0}} {
		if n := len(readers[c.reader].gets[topicID(c.topic)]); n != c.want {
			t.Errorf("%s gets %d partitions of topic %d, want %d", readers[c.reader].id, n, c.topic, c.want)
		}
	}
}

// Whatever they had: every partition has its number of readers, nobody gets what he does not read, and where all read
// the same nobody gets two more than another one. Once assigned nothing moves, and of what a reader had before he keeps
// what his part allows.
func TestSimpleAssignorIsBalancedAndSticky(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topics := rapid.IntRange(1, 4).Draw(t, "topics")
		assignable, partitions := map[record.UUID][]int32{}, 0
		for i := range topics {
			n := rapid.IntRange(0, 9).Draw(t, "partitions")
			assignable[topicID(i)] = upTo(n)
			partitions += n
		}
		alike := rapid.Bool().Draw(t, "alike")
		var readers []*reader
		for i := range rapid.IntRange(1, 12).Draw(t, "readers") {
			had := assignor.Partitions{}
			var reads []int
			for j := range topics {
				if alike || j == i%topics || rapid.Bool().Draw(t, "reads") {
					reads = append(reads, j)
				}
				put(had, topicID(j), rapid.SliceOfNDistinct(rapid.Int32Range(0, 12), 0, 6, rapid.ID[int32]).Draw(t, "had"))
			}
			readers = append(readers, readerOf(fmt.Sprintf("%02d", i), had, reads...))
		}
		for id := range assignable { // a topic that nobody reads is not assignable
			if !slices.ContainsFunc(readers, func(r *reader) bool { _, ok := r.topics[id]; return ok }) {
				delete(assignable, id)
			}
		}
		simple(readers, assignable)
		checkAssignment(t, readers, assignable, alike, len(readers) <= partitions)

		again := make([]*reader, len(readers))
		for i, r := range readers {
			again[i] = &reader{id: r.id, topics: r.topics, had: r.gets}
		}
		simple(again, assignable)
		for i, r := range readers {
			if !equal(r.gets, again[i].gets) {
				t.Fatalf("%s had %v and gets %v although nothing has changed", r.id, r.gets, again[i].gets)
			}
		}
	})
}

func checkAssignment(t *rapid.T, readers []*reader, assignable map[record.UUID][]int32, alike, alone bool) {
	least, most := 1<<30, 0
	holders := map[place]int{}
	for _, r := range readers {
		n := total(r.gets)
		least, most = min(least, n), max(most, n)
		for id, ps := range r.gets {
			if _, reads := r.topics[id]; !reads {
				t.Fatalf("%s gets a topic that it does not read", r.id)
			}
			if !slices.IsSorted(ps) || len(slices.Compact(slices.Clone(ps))) != len(ps) {
				t.Fatalf("%s gets %v", r.id, ps)
			}
			for _, p := range ps {
				if !slices.Contains(assignable[id], p) {
					t.Fatalf("%s gets partition %d, which has no state", r.id, p)
				}
				holders[place{id, p}]++
			}
		}
	}
	if alike && len(holders) > 0 && most-least > 1 {
		t.Fatalf("one has %d, another %d", most, least)
	}
	want := 0
	for id, ps := range assignable {
		for _, p := range ps {
			h := holders[place{id, p}]
			if h == 0 || alike && alone && h != 1 {
				t.Fatalf("partition %d of %v has %d readers", p, id, h)
			}
			want++
		}
	}
	if len(holders) != want {
		t.Fatalf("%d partitions are assigned of %d", len(holders), want)
	}
}
