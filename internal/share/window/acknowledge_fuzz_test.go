package window

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
)

// FuzzAcknowledge sends ranges of any size to a window of three batches. Nothing may panic or cost by a claimed size (the
// fuzzer's time limit tells), an error changes nothing, and the window stays consistent.
func FuzzAcknowledge(f *testing.F) {
	for _, s := range []Span{{0, 29}, {5, 14}, {0, math.MaxInt64}, {math.MinInt64, math.MaxInt64}, {-5, -1}, {25, 40}, {30, 30}, {15, 17}, {20, 10}} {
		f.Add(int64(s.First), int64(s.Last), []byte{1}, int64(s.Last), int64(s.Last), []byte{2, 3, 4, 0})
	}
	f.Fuzz(func(t *testing.T, first, last int64, types []byte, first2, last2 int64, types2 []byte) {
		w := New(0)
		for _, s := range []Span{{0, 9}, {10, 14}, {18, 29}} { // with a natural hole
			w.Acquire(Request{Member: "m", BatchSize: 100, MaxRecords: 100, FetchOffset: s.First, Batches: []Span{s}, Limits: Limits{Deliveries: 5, Records: 1000}})
		}
		var acks []Ack
		add := func(first, last int64, raw []byte) {
			a := Ack{Span: Span{record.Offset(first), record.Offset(last)}}
			for _, b := range raw {
				a.Types = append(a.Types, int8(b%5))
			}
			// What the handler lets through: as many types as offsets, or one.
			if n := len(a.Types); a.First > a.Last || n == 0 || n > 1 && uint64(a.Last-a.First) != uint64(n-1) {
				return
			}
			acks = append(acks, a)
		}
		add(first, last, types)
		add(first2, last2, types2)
		c, err := w.Acknowledge("m", acks, Terms{Limits: Limits{Deliveries: 5, Records: 1000}, Renewed: time.Unix(9, 0)})
		if err != nil {
			if c != nil || !errors.Is(err, ErrRequest) && !errors.Is(err, ErrRecordState) {
				t.Fatal(c, err)
			}
			w.each(func(r *run) {
				if r.state != Acquired || r.change != nil {
					t.Fatalf("%v after %v", *r, err)
				}
			})
			return
		}
		if c != nil {
			w.Conclude(c, true)
		}
		at := w.Start()
		for _, b := range w.batches {
			at = max(at, b.First)
			for _, r := range b.runs {
				if r.First != at || r.Last < r.First || r.change != nil {
					t.Fatalf("run %+v at %d", r, at)
				}
				at = r.Last + 1
			}
		}
	})
}
