package window

import (
	"errors"
	"slices"
	"testing"

	"github.com/samsalog/samsa/record"
)

var limits = Limits{Deliveries: 5, Records: 1000}

// acquire hands everything of some record batches to member m.
func acquire(w *Window, from record.Offset, batches ...Span) []AcquiredRecords {
	return w.Acquire(Request{Member: "m", BatchSize: 1000, MaxRecords: 1000, FetchOffset: from, Batches: batches, Limits: limits})
}

func acked(t *testing.T, w *Window, s Span, types ...Type) {
	t.Helper()
	a := Ack{Span: s}
	for _, k := range types {
		a.Types = append(a.Types, int8(k))
	}
	c, err := w.Acknowledge("m", []Ack{a}, Terms{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	w.Conclude(c, true)
}

func want(t *testing.T, got []AcquiredRecords, want ...AcquiredRecords) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("acquired %v, want %v", got, want)
	}
}

// TestCompactedBatchesAreArchived: records that were given back and that compaction removed meanwhile do not hold up the
// start.
func TestCompactedBatchesAreArchived(t *testing.T) {
	w := New(0)
	acquire(w, 0, Span{0, 4}, Span{5, 9})
	acked(t, w, Span{5, 9}, Accept)
	acked(t, w, Span{0, 4}, Release)
	want(t, acquire(w, w.FetchOffset(), Span{20, 24}), AcquiredRecords{Span{20, 24}, 1})
	if w.Start() != 20 || w.InFlight() != 5 {
		t.Fatalf("start %d, %d in flight", w.Start(), w.InFlight())
	}
}

// TestNaturalHolesAreNothing: what lies between record batches of the log belongs to nobody.
func TestNaturalHolesAreNothing(t *testing.T) {
	w := New(0)
	acquire(w, 0, Span{3, 4})
	acquire(w, 5, Span{10, 11})
	if w.Start() != 3 {
		t.Fatal("start", w.Start())
	}
	if _, err := w.Acknowledge("m", []Ack{{Span{6, 7}, []int8{1}}}, Terms{Limits: limits}); !errors.Is(err, ErrRequest) {
		t.Fatal(err)
	}
	acked(t, w, Span{3, 4}, Accept)
	if w.Start() != 10 {
		t.Fatal("start", w.Start())
	}
	acked(t, w, Span{3, 11}, Accept)
	if w.Start() != 12 || w.InFlight() != 0 {
		t.Fatal("start", w.Start())
	}
}

// TestTruncation: a log that lost its end takes the window's end with it.
func TestTruncation(t *testing.T) {
	for end, kept := range map[record.Offset][]AcquiredRecords{
		0: nil, 3: {{Span{0, 2}, 2}}, 5: {{Span{0, 4}, 2}}, 7: {{Span{0, 4}, 2}, {Span{5, 6}, 2}}, 10: {{Span{0, 4}, 2}, {Span{5, 9}, 2}}, 50: {{Span{0, 4}, 2}, {Span{5, 9}, 2}},
	} {
		w := New(0)
		acquire(w, 0, Span{0, 4})
		acquire(w, 5, Span{5, 9})
		w.Truncate(end)
		if got := min(end, 10); w.Next() != got || w.InFlight() != int64(got) {
			t.Fatalf("truncated to %d: next %d, %d in flight", end, w.Next(), w.InFlight())
		}
		if c := w.ReleaseAll("m", limits); c != nil {
			w.Conclude(c, true)
		}
		if end > 0 {
			want(t, acquire(w, 0, Span{0, min(end, 10) - 1}), kept...)
		}
	}
}

// TestAbortedRecordsAreLeftOut: they are done at once, and the rest of what was acquired is told.
func TestAbortedRecordsAreLeftOut(t *testing.T) {
	w := New(0)
	got := w.Acquire(Request{
		Member: "m", BatchSize: 1000, MaxRecords: 1000, Limits: limits,
		Batches: []Span{{0, 2}, {3, 5}, {6, 6}, {7, 9}}, Aborted: []Span{{0, 2}, {6, 6}},
	})
	want(t, got, AcquiredRecords{Span{3, 5}, 1}, AcquiredRecords{Span{7, 9}, 1})
	if w.Start() != 3 {
		t.Fatal("start", w.Start())
	}
	acked(t, w, Span{3, 5}, Accept)
	if w.Start() != 7 {
		t.Fatal("start", w.Start())
	}
	// All of it: nothing is told, and the window is past it.
	if got := w.Acquire(Request{Member: "m", BatchSize: 9, MaxRecords: 9, FetchOffset: 10, Limits: limits, Batches: []Span{{10, 12}}, Aborted: []Span{{10, 12}}}); len(got) != 0 {
		t.Fatal(got)
	}
	acked(t, w, Span{7, 9}, Accept)
	if w.Start() != 13 || w.FetchOffset() != 13 {
		t.Fatal("start", w.Start())
	}
}

// TestPortionsBeforeTheLimit: a batch whose records fail comes in halves, quarters and at last one record at a time, so that
// one of them does not take all others with it.
func TestPortionsBeforeTheLimit(t *testing.T) {
	w := New(0)
	l := Limits{Deliveries: 6, Records: 1000}
	sizes := map[int16][]int64{}
	for range 200 {
		got := w.Acquire(Request{Member: "m", BatchSize: 100, MaxRecords: 100, FetchOffset: w.FetchOffset(), Batches: []Span{{0, 15}}, Limits: l})
		if len(got) == 0 {
			break
		}
		n := int64(0)
		for _, g := range got {
			n += g.len()
		}
		sizes[got[0].Count] = append(sizes[got[0].Count], n)
		c, err := w.Acknowledge("m", []Ack{{got[0].Span, []int8{int8(Release)}}}, Terms{Limits: l})
		if err != nil {
			t.Fatal(err)
		}
		w.Conclude(c, true)
	}
	for count, most := range map[int16]int64{1: 16, 2: 16, 3: 16, 4: 8, 5: 4, 6: 1} {
		if got := slices.Max(sizes[count]); got != most {
			t.Errorf("delivery %d came in portions of %v, want %d at most", count, sizes[count], most)
		}
	}
	if w.Start() != 16 {
		t.Error("start", w.Start())
	}
}

// TestInvalidState: persisted state that contradicts itself is refused.
func TestInvalidState(t *testing.T) {
	for name, batches := range map[string][]StateBatch{
		"below the start": {{Span{1, 3}, Available, 1}}, "backwards": {{Span{9, 8}, Available, 1}}, "overlapping": {{Span{5, 9}, Available, 1}, {Span{9, 12}, Available, 1}},
		"unknown state": {{Span{5, 9}, 7, 1}}, "negative count": {{Span{5, 9}, Available, -1}},
	} {
		if _, err := Load(5, batches); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(-1, nil); !errors.Is(err, ErrState) {
		t.Error(err)
	}
}
