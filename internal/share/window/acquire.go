package window

import (
	"sort"
	"time"

	"github.com/samsalog/samsa/record"
)

// Mode is how records are handed out (KIP-1206).
type Mode int8

// The modes, with their numbers in ShareFetch.
const (
	BatchOptimized Mode = 0 // whole record batches, so that the limit of records may be exceeded
	RecordLimit    Mode = 1 // never more records than asked for
)

// Request asks for records of one read.
type Request struct {
	Member string
	Mode   Mode
	// BatchSize is how many records an acquired batch should have; BatchOptimized only.
	BatchSize int
	// MaxRecords is how many records are wanted.
	MaxRecords int
	// FetchOffset is where the read began.
	FetchOffset record.Offset
	// Batches are the record batches that the read found, in order.
	Batches []Span
	// Aborted are those of them that belong to aborted transactions, for readers who do not want them.
	Aborted  []Span
	Deadline time.Time
	Limits
}

// AcquiredRecords is a range of records handed out, with the number of this delivery.
type AcquiredRecords struct {
	Span
	Count int16
}

// smallestThrottle is the delivery from which on records come in ever smaller portions, at least.
const smallestThrottle = 2

// throttleFrom is the delivery count from which on a batch is handed out in halves, quarters and so on, so that one bad
// record does not use up the deliveries of all others.
func (l Limits) throttleFrom() int { return max(smallestThrottle, (l.Deliveries+1)/2) }

// Acquire hands out records of a read: those inside the window that were given back, and those behind it as far as the
// limits go. Records between FetchOffset and the first batch are gone from the log and archived.
func (w *Window) Acquire(r Request) []AcquiredRecords {
	if r.MaxRecords <= 0 || len(r.Batches) == 0 {
		return nil
	}
	a := acquiring{w: w, Request: r, read: Span{r.Batches[0].First, r.Batches[len(r.Batches)-1].Last}}
	a.capacity()
	if a.max <= 0 {
		return nil
	}
	w.archiveFree(Span{r.FetchOffset, a.read.First - 1})
	if a.known() {
		a.fresh()
	}
	a.leaveOutAborted()
	w.advance()
	return a.result
}

// acquiring is one Acquire on its way.
type acquiring struct {
	Request
	w *Window
	// read is what was read, cut to what may be handed out.
	read Span
	// max is how many records may be handed out, n how many were.
	max, n int64
	result []AcquiredRecords
}

// capacity works out how much may be handed out. A full window gives only what lies inside.
func (a *acquiring) capacity() {
	a.max = min(int64(a.MaxRecords), int64(a.Records)-a.w.InFlight())
	if a.max <= 0 && a.FetchOffset < a.w.next {
		a.max = min(int64(a.MaxRecords), int64(a.w.next-a.FetchOffset))
		a.read.Last = min(a.read.Last, a.w.next-1)
	}
}

// archiveFree archives the free records of a range.
func (w *Window) archiveFree(s Span) {
	for i := w.from(s.First); i < len(w.batches) && w.batches[i].First <= s.Last; i++ {
		b := w.batches[i]
		for j := 0; j < len(b.runs); j++ {
			part := Span{max(s.First, b.runs[j].First), min(s.Last, b.runs[j].Last)}
			if part.First <= part.Last && b.runs[j].free() {
				j = b.isolate(j, part)
				b.runs[j].state = Archived
			}
		}
		b.join()
	}
}

// known hands out records of the window, and reports whether to go on behind it.
func (a *acquiring) known() bool {
	w := a.w
	for i := w.from(a.read.First); i < len(w.batches) && w.batches[i].First <= a.read.Last; i++ {
		if a.n >= a.max {
			return false
		}
		b := w.batches[i]
		throttled := a.throttled(b)
		if throttled && a.n > 0 {
			return false // it comes alone, with the next fetch
		}
		whole := len(b.runs) == 1 && b.First >= a.read.First && b.Last <= a.read.Last
		if !whole || throttled || b.gap || a.Mode == RecordLimit && b.len() > a.max-a.n {
			before := a.n
			a.part(b)
			b.join()
			if throttled && a.n > before {
				return false
			}
			continue
		}
		if b.runs[0].free() {
			a.take(b, 0, b.Span, false)
		}
	}
	return a.n < a.max
}

func (a *acquiring) throttled(b *batch) bool {
	most := int16(0)
	for i := range b.runs {
		r := &b.runs[i]
		if r.free() && r.Last >= a.read.First && r.First <= a.read.Last {
			most = max(most, r.count)
		}
	}
	return int(most) >= a.throttleFrom()
}

// part hands out what is free of a batch, as far as it was read. A record before its last delivery comes alone.
func (a *acquiring) part(b *batch) {
	var n, portion int64 = 0, -1
	for i := 0; i < len(b.runs); i++ {
		r := &b.runs[i]
		s := Span{max(r.First, a.read.First), min(r.Last, a.read.Last)}
		if s.First > s.Last || !r.free() {
			continue
		}
		last := a.Deliveries > 2 && int(r.count) == a.Deliveries-1
		if last && n > 0 {
			return
		}
		if over := int(r.count) - a.throttleFrom(); over >= 0 && portion < 0 {
			portion = max(1, b.size>>(over+1))
		}
		take := s.len()
		switch {
		case last:
			take = 1
		case a.Mode == RecordLimit:
			take = min(take, a.max-a.n)
		case b.gap:
			take = min(take, int64(a.batchEnd(s.First+record.Offset(a.max-a.n-1))-s.First+1))
		}
		// A portion that is exceeded already does not end what was begun, as in Kafka.
		if n < portion {
			take = min(take, portion-n)
		}
		s.Last = s.First + record.Offset(take) - 1
		i = a.take(b, i, s, n > 0)
		n += take
		if last || n == portion || (a.Mode == RecordLimit || b.gap) && a.n >= a.max {
			return
		}
	}
}

// take hands out the part s of run i and returns the index of its run. joined lets it become one range with the one
// before.
func (a *acquiring) take(b *batch, i int, s Span, joined bool) int {
	i = b.isolate(i, s)
	r := &b.runs[i]
	r.state, r.member, r.deadline = Acquired, a.Member, a.Deadline
	r.count = raised(r.count)
	a.n += s.len()
	if l := len(a.result) - 1; joined && a.result[l].Last+1 == s.First && a.result[l].Count == r.count {
		a.result[l].Last = s.Last
		return i
	}
	a.result = append(a.result, AcquiredRecords{Span: s, Count: r.count})
	return i
}

// raised adds a delivery; the count is an int16 on the wire and in the log.
func raised(count int16) int16 {
	if count == 1<<15-1 {
		return count
	}
	return count + 1
}

// fresh hands out records behind the window.
func (a *acquiring) fresh() {
	w := a.w
	s := Span{max(a.read.First, w.next), a.read.Last}
	if s.First > s.Last {
		return
	}
	room := a.max - a.n
	if room < s.len() {
		s.Last = a.batchEnd(s.First + record.Offset(room) - 1)
	}
	if len(w.batches) == 0 {
		w.start = s.First
	}
	if a.Mode == RecordLimit {
		b := w.push(s, run{state: Available})
		if room < s.len() {
			s.Last = s.First + record.Offset(room) - 1
			w.seek = true
		}
		a.take(b, 0, s, false)
		return
	}
	for _, piece := range a.pieces(s) {
		a.take(w.push(piece, run{state: Available}), 0, piece, false)
	}
}

// pieces splits a range at record batches, into parts of BatchSize records or a little more.
func (a *acquiring) pieces(s Span) []Span {
	size := int64(max(1, a.BatchSize))
	if s.len() <= size {
		return []Span{s}
	}
	var out []Span
	for _, b := range a.Batches {
		if b.First > s.Last {
			break
		}
		if int64(b.First-s.First) >= size {
			out = append(out, Span{s.First, b.First - 1})
			s.First = b.First
		}
	}
	return append(out, s)
}

// batchEnd is the last offset of the record batch that holds offset; offset itself if none does.
func (a *acquiring) batchEnd(offset record.Offset) record.Offset {
	i := sort.Search(len(a.Batches), func(i int) bool { return a.Batches[i].Last >= offset })
	if i == len(a.Batches) || a.Batches[i].First > offset {
		return offset
	}
	return min(a.Batches[i].Last, a.read.Last)
}

// leaveOutAborted archives what was just handed out of aborted transactions and takes it out of the result.
func (a *acquiring) leaveOutAborted() {
	if len(a.Aborted) == 0 || len(a.result) == 0 {
		return
	}
	var kept []AcquiredRecords
	for _, r := range a.result {
		rest := r.Span
		at := sort.Search(len(a.Aborted), func(i int) bool { return a.Aborted[i].Last >= rest.First })
		for ; at < len(a.Aborted) && a.Aborted[at].First <= rest.Last; at++ {
			gone := Span{max(rest.First, a.Aborted[at].First), min(rest.Last, a.Aborted[at].Last)}
			a.w.archive(gone)
			if gone.First > rest.First {
				kept = append(kept, AcquiredRecords{Span{rest.First, gone.First - 1}, r.Count})
			}
			rest.First = gone.Last + 1
		}
		if rest.First <= rest.Last {
			kept = append(kept, AcquiredRecords{rest, r.Count})
		}
	}
	a.result = kept
}

// archive archives records that were handed out but not told to anybody yet.
func (w *Window) archive(s Span) {
	for i := w.from(s.First); i < len(w.batches) && w.batches[i].First <= s.Last; i++ {
		b := w.batches[i]
		for j := 0; j < len(b.runs); j++ {
			part := Span{max(s.First, b.runs[j].First), min(s.Last, b.runs[j].Last)}
			if part.First <= part.Last && b.runs[j].state == Acquired {
				j = b.isolate(j, part)
				b.runs[j].state, b.runs[j].member, b.runs[j].deadline = Archived, "", time.Time{}
			}
		}
		b.join()
	}
}
