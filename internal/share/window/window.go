package window

import (
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/samsalog/samsa/record"
)

// State is the delivery state of a record, with the number it has in __share_group_state.
type State int8

// The states. Acquired is never persisted.
const (
	Available    State = 0 // to be handed out
	Acquired     State = 1 // handed out, with a lock
	Acknowledged State = 2 // done: accepted
	Archiving    State = 3 // rejected or given up, and on its way to a dead-letter queue (KIP-1191)
	Archived     State = 4 // done: rejected, given up, or not there
)

func (s State) done() bool { return s == Acknowledged || s == Archived }

// Refusals of acknowledgements.
var (
	// ErrRecordState means that a record is not acquired by the member, or a change of it is being persisted.
	ErrRecordState = errors.New("the record is not acquired by the member")
	// ErrRequest means that the range reaches beyond what was handed out, or that a type of acknowledgement is unknown.
	ErrRequest = errors.New("no records were handed out in that range")
	// ErrState means that persisted state contradicts itself.
	ErrState = errors.New("the persisted state of the share partition is invalid")
)

// Span is a range of offsets, both included.
type Span struct{ First, Last record.Offset }

func (s Span) len() int64 { return int64(s.Last - s.First + 1) }

// StateBatch is a state of a range of records as it is persisted.
type StateBatch struct {
	Span
	State State
	Count int16 // deliveries
}

// Limits are the group's settings.
type Limits struct {
	// Deliveries is how often a record is delivered before it is given up (share.delivery.count.limit).
	Deliveries int
	// Records bounds the offsets from start to next (share.partition.max.record.locks). Batches come whole, so that the
	// last one may exceed it.
	Records int
	// DeadLetters says that what is rejected or given up goes to a dead-letter queue (WIN-6).
	DeadLetters bool
}

// released is the state of a record that its owner gives back or loses.
func (l Limits) released(count int16) State {
	if int(count) >= l.Deliveries {
		return l.archived()
	}
	return Available
}

// archived is the state of a record that is not delivered any more.
func (l Limits) archived() State {
	if l.DeadLetters {
		return Archiving
	}
	return Archived
}

// run is a range of records that are in the same state for the same reason.
type run struct {
	Span
	state State
	count int16
	// member and deadline belong to Acquired: who has the records, and until when.
	member   string
	deadline time.Time
	// change is being persisted and leads to state to; nil for none (WIN-4).
	change *Change
	to     State
}

// free reports whether the records can be handed out.
func (r *run) free() bool { return r.state == Available && r.change == nil }

// settled reports whether the records are done for good.
func (r *run) settled() bool { return r.state.done() && r.change == nil }

// batch is what was handed out in one piece, or read from persisted state in one piece.
type batch struct {
	Span
	// size is the number of offsets that the batch had at first; its beginning is cut off when it is done.
	size int64
	// gap marks a hole in persisted state: records that were handed out, but nothing was ever written about them.
	gap  bool
	runs []run
}

// Window is the in-flight records of one share partition.
type Window struct {
	start, next record.Offset
	batches     []*batch
	// seek says that there may be free runs; false saves the search for them.
	seek bool
}

// New returns an empty window whose first record will be at start.
func New(start record.Offset) *Window { return &Window{start: start, next: start} }

// Load returns the window that was persisted. What lies between its batches was handed out by a former leader that
// ended before anything was acknowledged: it is to be had again.
func Load(start record.Offset, persisted []StateBatch) (*Window, error) {
	w := New(start)
	if start < 0 {
		return nil, ErrState
	}
	for _, p := range persisted {
		if p.First < w.next || p.Last < p.First || p.Count < 0 {
			return nil, ErrState
		}
		state := p.State
		switch state {
		case Available, Acknowledged, Archiving, Archived:
		case Acquired:
			state = Available
		default:
			return nil, ErrState
		}
		if p.First > w.next {
			b := w.push(Span{w.next, p.First - 1}, run{state: Available})
			b.gap = true
		}
		w.push(p.Span, run{state: state, count: p.Count})
	}
	w.seek = true
	w.advance()
	return w, nil
}

// push adds a batch of one run at the end.
func (w *Window) push(s Span, r run) *batch {
	r.Span = s
	b := &batch{Span: s, size: s.len(), runs: []run{r}}
	w.batches = append(w.batches, b)
	w.next = s.Last + 1
	return b
}

// Start is the first offset that is not done: the share-partition start offset.
func (w *Window) Start() record.Offset { return w.start }

// Next is the first offset that was never handed out.
func (w *Window) Next() record.Offset { return w.next }

// InFlight is how many offsets the window spans.
func (w *Window) InFlight() int64 {
	if len(w.batches) == 0 {
		return 0
	}
	return int64(w.next - w.start)
}

// Batches is how many batches the window holds.
func (w *Window) Batches() int { return len(w.batches) }

// FetchOffset is where a read should begin: at the first record that was given back, else behind the window.
func (w *Window) FetchOffset() record.Offset {
	if !w.seek {
		return w.next
	}
	for _, b := range w.batches {
		for i := range b.runs {
			if b.runs[i].free() {
				return b.runs[i].First
			}
		}
	}
	w.seek = false
	return w.next
}

// MayAcquire reports whether there is room for records behind the window, or some inside that were given back.
func (w *Window) MayAcquire(l Limits) bool {
	return w.FetchOffset() < w.next || w.InFlight() < int64(l.Records)
}

// Deadline is when the first lock runs out; the zero time when there is none.
func (w *Window) Deadline() time.Time {
	var first time.Time
	w.each(func(r *run) {
		if r.state == Acquired && r.change == nil && (first.IsZero() || r.deadline.Before(first)) {
			first = r.deadline
		}
	})
	return first
}

// DeliveryComplete counts the records in the window that are done, or will be when their changes are persisted.
func (w *Window) DeliveryComplete() int64 {
	var n int64
	w.each(func(r *run) {
		if r.state.done() || r.change != nil && r.to.done() {
			n += r.len()
		}
	})
	return n
}

func (w *Window) each(f func(*run)) {
	for _, b := range w.batches {
		for i := range b.runs {
			f(&b.runs[i])
		}
	}
}

// from is the index of the first batch that ends at or after offset.
func (w *Window) from(offset record.Offset) int {
	return sort.Search(len(w.batches), func(i int) bool { return w.batches[i].Last >= offset })
}

// advance moves the start over records that are done (WIN-3).
func (w *Window) advance() {
	for len(w.batches) > 0 {
		b := w.batches[0]
		n := 0
		for n < len(b.runs) && b.runs[n].settled() {
			w.start = b.runs[n].Last + 1
			n++
		}
		if n == 0 {
			return
		}
		if n < len(b.runs) {
			b.cutFront(w.start)
			return
		}
		w.batches = w.batches[1:]
		if len(w.batches) > 0 {
			w.start = w.batches[0].First
		}
	}
	w.batches = nil
}

// MoveStart gives up everything below to: the log does not have it any more. Acknowledgements of it will be passed over.
func (w *Window) MoveStart(to record.Offset) {
	if to <= w.start {
		return
	}
	w.batches = w.batches[w.from(to):]
	if len(w.batches) > 0 {
		w.batches[0].cutFront(to)
	}
	w.start, w.next = to, max(w.next, to)
	w.advance()
}

// Truncate gives up everything from end on: the log lost it.
func (w *Window) Truncate(end record.Offset) {
	if w.next <= end {
		return
	}
	i := w.from(end)
	if i < len(w.batches) && w.batches[i].First < end {
		w.batches[i].cutBack(end)
		i++
	}
	w.batches = w.batches[:i]
	w.start, w.next = min(w.start, end), end
}

// cutFront drops the offsets below first.
func (b *batch) cutFront(first record.Offset) {
	if first <= b.First {
		return
	}
	i := slices.IndexFunc(b.runs, func(r run) bool { return r.Last >= first })
	b.runs = b.runs[i:]
	b.First = first
	b.runs[0].First = max(b.runs[0].First, first)
}

// cutBack drops the offsets from end on.
func (b *batch) cutBack(end record.Offset) {
	i := slices.IndexFunc(b.runs, func(r run) bool { return r.Last >= end-1 })
	b.runs = b.runs[:i+1]
	b.runs[i].Last = end - 1
	b.Last = end - 1
}

// isolate makes the part s of run i a run of its own and returns its index.
func (b *batch) isolate(i int, s Span) int {
	r := b.runs[i]
	if s.First > r.First {
		head, tail := r, r
		head.Last, tail.First = s.First-1, s.First
		b.runs[i] = head
		i++
		b.runs = slices.Insert(b.runs, i, tail)
	}
	if s.Last < r.Last {
		head, tail := b.runs[i], b.runs[i]
		head.Last, tail.First = s.Last, s.Last+1
		b.runs[i] = head
		b.runs = slices.Insert(b.runs, i+1, tail)
	}
	return i
}

// join makes one run of neighbours that do not differ.
func (b *batch) join() {
	out := b.runs[:1]
	for _, r := range b.runs[1:] {
		l := &out[len(out)-1]
		if l.state == r.state && l.count == r.count && l.member == r.member && l.deadline.Equal(r.deadline) && l.change == r.change && l.to == r.to {
			l.Last = r.Last
			continue
		}
		out = append(out, r)
	}
	clear(b.runs[len(out):])
	b.runs = out
}
