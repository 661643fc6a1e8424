package coordinator

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Batch is a range of offsets that are in the same state.
type Batch struct {
	// First and Last are inclusive.
	First, Last int64
	// State is 0 available, 2 acknowledged, 3 archiving or 4 archived; 1, acquired, is not stored.
	State int8
	// Count is how often the records were delivered.
	Count int16
}

// compare orders what is known of an offset: who delivered more often knows better, then who is further on.
func (b Batch) compare(o Batch) int {
	if c := cmp.Compare(b.Count, o.Count); c != 0 {
		return c
	}
	return cmp.Compare(b.State, o.State)
}

// combine makes one list of batches that overlap, without what is below start (-1: there is no start). Where several
// speak of an offset, the one that compares highest holds; neighbours in the same state become one (SHC-5).
func combine(batches []Batch, start int64) []Batch {
	in := make([]Batch, 0, len(batches))
	for _, b := range batches {
		if start != -1 {
			b.First = max(b.First, start)
		}
		b.Last = min(b.Last, math.MaxInt64-1) // so that there is an offset after it
		if b.First <= b.Last {
			in = append(in, b)
		}
	}
	if len(in) < 2 {
		return in
	}
	slices.SortFunc(in, func(a, b Batch) int { return cmp.Compare(a.First, b.First) })
	cuts := make([]int64, 0, 2*len(in))
	for _, b := range in {
		cuts = append(cuts, b.First, b.Last+1)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)

	var out []Batch
	var open highest
	for i, at := range cuts[:len(cuts)-1] {
		for ; len(in) > 0 && in[0].First == at; in = in[1:] {
			heap.Push(&open, in[0])
		}
		for len(open) > 0 && open[0].Last < at {
			heap.Pop(&open)
		}
		if len(open) == 0 {
			continue
		}
		piece := Batch{First: at, Last: cuts[i+1] - 1, State: open[0].State, Count: open[0].Count}
		if n := len(out); n > 0 && out[n-1].Last+1 == at && out[n-1].compare(piece) == 0 {
			out[n-1].Last = piece.Last
		} else {
			out = append(out, piece)
		}
	}
	return out
}

// highest is a heap of batches with the one that compares highest on top.
type highest []Batch

func (h highest) Len() int           { return len(h) }
func (h highest) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h highest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *highest) Push(x any)        { *h = append(*h, x.(Batch)) }
func (h *highest) Pop() any {
	old := *h
	b := old[len(old)-1]
	*h = old[:len(old)-1]
	return b
}
