package coordinator

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
)

func TestCombine(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    []Batch
		start int64
		want  string
	}{
		{"nothing", nil, 5, "[]"},
		{"below the start", []Batch{{1, 4, 2, 1}}, 5, "[]"},
		{"over the start", []Batch{{1, 6, 2, 1}}, 5, "[{5 6 2 1}]"},
		{"without a start", []Batch{{1, 6, 2, 1}}, -1, "[{1 6 2 1}]"},
		{"neighbours alike", []Batch{{5, 6, 2, 1}, {7, 9, 2, 1}}, 0, "[{5 9 2 1}]"},
		{"neighbours unlike", []Batch{{5, 6, 2, 1}, {7, 9, 0, 1}}, 0, "[{5 6 2 1} {7 9 0 1}]"},
		{"inside, known better", []Batch{{5, 9, 0, 1}, {7, 7, 2, 1}}, 0, "[{5 6 0 1} {7 7 2 1} {8 9 0 1}]"},
		{"inside, known worse", []Batch{{5, 9, 0, 2}, {7, 7, 2, 1}}, 0, "[{5 9 0 2}]"},
		{"over the end", []Batch{{5, 9, 0, 2}, {8, 12, 2, 1}}, 0, "[{5 9 0 2} {10 12 2 1}]"},
		{"backwards", []Batch{{9, 5, 0, 2}}, 0, "[]"},
		{"the last offset there is", []Batch{{9, math.MaxInt64, 0, 2}, {7, 10, 0, 3}}, 0, fmt.Sprintf("[{7 10 0 3} {11 %d 0 2}]", int64(math.MaxInt64-1))},
	} {
		if got := fmt.Sprint(combine(c.in, c.start)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Every offset is in the state that compares highest of those that speak of it, and batches are as few as can be (SHC-5).
func TestCombineModel(t *testing.T) {
	batch := rapid.Custom(func(t *rapid.T) Batch {
		first := rapid.Int64Range(0, 40).Draw(t, "first")
		return Batch{first, first + rapid.Int64Range(0, 12).Draw(t, "length"), rapid.SampledFrom([]int8{0, 2, 4}).Draw(t, "state"), int16(rapid.IntRange(1, 3).Draw(t, "count"))}
	})
	longtest.Check(t, 200, 5000, func(rt *rapid.T) {
		in := rapid.SliceOfN(batch, 0, 12).Draw(rt, "batches")
		start := rapid.Int64Range(-1, 20).Draw(rt, "start")
		want := map[int64]Batch{}
		for _, b := range in {
			for at := max(b.First, start); at <= b.Last; at++ {
				one := Batch{at, at, b.State, b.Count}
				if old, ok := want[at]; !ok || old.compare(one) < 0 {
					want[at] = one
				}
			}
		}
		got, last := combine(in, start), Batch{First: -10, Last: -10}
		for _, b := range got {
			if b.First <= last.Last || b.First == last.Last+1 && b.compare(last) == 0 {
				rt.Fatalf("%v after %v", b, last)
			}
			last = b
			for at := b.First; at <= b.Last; at++ {
				if want[at] != (Batch{at, at, b.State, b.Count}) {
					rt.Fatalf("offset %d is in %v, want %v", at, b, want[at])
				}
				delete(want, at)
			}
		}
		if len(want) != 0 {
			rt.Fatalf("missing: %v", want)
		}
	})
}
