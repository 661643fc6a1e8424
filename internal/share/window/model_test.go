package window

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
)

// modelRecord is one record as a plain reading of KIP-932 has it.
type modelRecord struct {
	state    State
	count    int16
	member   string
	deadline time.Time
	change   *Change
	to       State
}

// model is a window kept record by record, and the log it reads.
type model struct {
	w       *Window
	limits  Limits
	records map[record.Offset]*modelRecord
	start   record.Offset
	batches []Span // of the log, without holes
	pending []*Change
	// letters are about records that are Archiving for good, in the order in which they came about.
	letters []Letter
	now     time.Time
}

var members = []string{"a", "b", "c"}

func newModel(t *rapid.T) *model {
	m := &model{records: map[record.Offset]*modelRecord{}, now: time.Unix(1000, 0)}
	m.limits = Limits{Deliveries: rapid.IntRange(2, 6).Draw(t, "deliveries"), Records: rapid.IntRange(5, 60).Draw(t, "locks"), DeadLetters: rapid.Bool().Draw(t, "letters")}
	for next := record.Offset(0); next < 400; {
		n := record.Offset(rapid.IntRange(1, 12).Draw(t, "batch"))
		m.batches = append(m.batches, Span{next, next + n - 1})
		next += n
	}
	m.w = New(0)
	return m
}

func (m *model) acquire(t *rapid.T) {
	r := Request{
		Member: rapid.SampledFrom(members).Draw(t, "member"), Mode: Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
		BatchSize: rapid.IntRange(1, 30).Draw(t, "size"), MaxRecords: rapid.IntRange(1, 40).Draw(t, "max"),
		Deadline: m.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "lock")) * time.Second), Limits: m.limits,
	}
	r.FetchOffset = m.w.FetchOffset()
	may, inFlight := m.w.MayAcquire(m.limits), m.w.InFlight()
	n := rapid.IntRange(1, 8).Draw(t, "read")
	for _, b := range m.batches {
		if b.Last >= r.FetchOffset && len(r.Batches) < n {
			r.Batches = append(r.Batches, b)
		}
	}
	if len(r.Batches) == 0 {
		return
	}
	got := m.w.Acquire(r)
	if may != (len(got) > 0) {
		t.Fatalf("may acquire %v, got %v from %d", may, got, r.FetchOffset)
	}
	total, before := int64(0), record.Offset(-1)
	for _, g := range got {
		total += g.len()
		if g.First <= before {
			t.Fatalf("ranges out of order: %v", got)
		}
		before = g.Last
		for o := g.First; o <= g.Last; o++ {
			old, ok := m.records[o]
			if !ok {
				old = &modelRecord{}
				m.records[o] = old
			}
			if old.state != Available || old.change != nil || old.count+1 != g.Count {
				t.Fatalf("offset %d handed out with count %d while %+v", o, g.Count, *old)
			}
			*old = modelRecord{state: Acquired, count: g.Count, member: r.Member, deadline: r.Deadline}
			if m.limits.Deliveries > 2 && int(g.Count) == m.limits.Deliveries && total > 1 {
				t.Fatalf("the last delivery of %d does not come alone: %v", o, got)
			}
		}
	}
	if r.Mode == RecordLimit && total > int64(r.MaxRecords) {
		t.Fatalf("%d records for %d", total, r.MaxRecords)
	}
	// The batch that reaches the limit comes whole; the log's batches have 12 records at most.
	if now := m.w.InFlight(); now > max(inFlight, int64(m.limits.Records)+11) {
		t.Fatalf("%d in flight, limit %d", now, m.limits.Records)
	}
	// What lies in a batch but was not handed out in record_limit mode is known and free.
	for o := m.start; o < m.w.Next(); o++ {
		if m.records[o] == nil {
			m.records[o] = &modelRecord{}
		}
	}
}

func (m *model) acknowledge(t *rapid.T) {
	member := rapid.SampledFrom(members).Draw(t, "member")
	lo := int(m.start)
	first := record.Offset(rapid.IntRange(max(0, lo-3), int(m.w.Next())+2).Draw(t, "first"))
	a := Ack{Span: Span{first, first + record.Offset(rapid.IntRange(0, 14).Draw(t, "len"))}}
	n := 1
	if rapid.Bool().Draw(t, "each") {
		n = int(a.len())
	}
	for range n {
		a.Types = append(a.Types, int8(rapid.SampledFrom([]Type{Gap, Accept, Accept, Release, Reject, Renew}).Draw(t, "type")))
	}
	terms := Terms{Limits: m.limits, Renewed: m.now.Add(30 * time.Second)}
	c, err := m.w.Acknowledge(member, []Ack{a}, terms)
	if want := m.judge(member, a); !errors.Is(err, want) {
		t.Fatalf("acknowledging %v for %s: %v, want %v", a, member, err, want)
	}
	m.apply(member, a, c, err, terms)
	if c != nil {
		m.pending = append(m.pending, c)
	}
}

// judge is what an acknowledgement should be answered.
func (m *model) judge(member string, a Ack) error {
	switch {
	case a.Last < m.start:
		return nil
	case m.w.Next() == m.start:
		return ErrRecordState // nothing is in flight
	case a.Last >= m.w.Next():
		return ErrRequest
	}
	for o := max(a.First, m.start); o <= a.Last; o++ {
		if r := m.records[o]; r.state != Acquired || r.change != nil || r.member != member {
			return ErrRecordState
		}
	}
	return nil
}

func (m *model) apply(member string, a Ack, c *Change, err error, terms Terms) {
	for o := max(a.First, m.start); o <= a.Last && o < m.w.Next(); o++ {
		r := m.records[o]
		if r.state != Acquired || r.change != nil || r.member != member {
			return // where it stopped
		}
		kind := Type(a.Types[0])
		if len(a.Types) > 1 {
			kind = Type(a.Types[o-a.First])
		}
		switch {
		case errors.Is(err, ErrRequest):
			return
		case kind == Renew:
			r.deadline = terms.Renewed
		case err == nil:
			r.change = c
			r.to = map[Type]State{Gap: Archived, Accept: Acknowledged, Reject: m.limits.archived(), Release: m.limits.released(r.count)}[kind]
		}
	}
}

func (m *model) release(t *rapid.T) {
	member := rapid.SampledFrom(members).Draw(t, "member")
	c := m.w.ReleaseAll(member, m.limits)
	for _, r := range m.records {
		if r.state == Acquired && r.change == nil && r.member == member {
			r.change, r.to = c, m.limits.released(r.count)
		}
	}
	if c != nil {
		m.pending = append(m.pending, c)
	}
}

func (m *model) expire(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 15).Draw(t, "seconds")) * time.Second)
	c := m.w.Expire(m.now, m.limits)
	if c != nil {
		m.pending = append(m.pending, c)
	}
	for _, r := range m.records {
		if r.state == Acquired && r.change == nil && !r.deadline.After(m.now) {
			*r = modelRecord{state: m.limits.released(r.count), count: r.count}
			if r.state != Available {
				r.change, r.to = c, r.state
			}
		}
	}
	if d := m.w.Deadline(); !d.IsZero() && !d.After(m.now) {
		t.Fatalf("a lock of %v is held at %v", d, m.now)
	}
}

func (m *model) conclude(t *rapid.T) {
	if len(m.pending) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.pending)-1).Draw(t, "change")
	c, persisted := m.pending[i], rapid.IntRange(0, 3).Draw(t, "fails") > 0
	m.pending = append(m.pending[:i], m.pending[i+1:]...)
	m.w.Conclude(c, persisted)
	for o, r := range m.records {
		if r.change != c {
			continue
		}
		r.change = nil
		if persisted || r.state == Archived || r.state == Archiving {
			*r = modelRecord{state: r.to, count: r.count}
		}
		if r.state == Archiving && !covered(c.Letters, o, r.count) {
			t.Fatalf("offset %d has no letter in %v", o, c.Letters)
		}
	}
	for _, l := range c.Letters {
		if r := m.records[l.Last]; persisted || r != nil && r.state == Archiving {
			m.letters = append(m.letters, l)
		}
	}
}

func covered(ls []Letter, o record.Offset, count int16) bool {
	return slices.ContainsFunc(ls, func(l Letter) bool { return l.First <= o && o <= l.Last && l.Count == count })
}

// deliver sees to some letters. Of what they are about some may be gone.
func (m *model) deliver(t *rapid.T) {
	n := rapid.IntRange(0, len(m.letters)).Draw(t, "letters")
	ls := m.letters[:n]
	m.letters = m.letters[n:]
	c := m.w.Archive(ls)
	for o, r := range m.records {
		if r.state == Archiving && r.change == nil && covered(ls, o, r.count) {
			r.state, r.change, r.to = Archived, c, Archived
		}
	}
	if c != nil {
		m.pending = append(m.pending, c)
	}
}

func (m *model) moveStart(t *rapid.T) {
	to := m.start + record.Offset(rapid.IntRange(0, 25).Draw(t, "by"))
	m.w.MoveStart(to)
	m.forget(to)
}

// reload is a new leader: what was persisted is known, the rest is to be had again.
func (m *model) reload(t *rapid.T) {
	for len(m.pending) > 0 {
		m.conclude(t)
	}
	var kept []StateBatch
	from := m.start
	for o := from; o < m.w.Next(); o++ {
		r := m.records[o]
		if r.state == Acquired {
			delete(m.records, o)
			continue
		}
		kept = append(kept, StateBatch{Span{o, o}, r.state, r.count})
	}
	w, err := Load(from, kept)
	if err != nil {
		t.Fatal(err)
	}
	m.w, m.letters = w, w.Undelivered(m.limits)
	for o := range m.records {
		if o >= w.Next() {
			delete(m.records, o)
		}
	}
	for o := from; o < w.Next(); o++ {
		if m.records[o] == nil {
			m.records[o] = &modelRecord{}
		}
	}
}

func (m *model) forget(below record.Offset) {
	for o := range m.records {
		if o < below {
			delete(m.records, o)
		}
	}
	m.start = max(m.start, below)
}

// check compares the two record by record and tests the invariants.
func (m *model) check(t *rapid.T) {
	for {
		r := m.records[m.start]
		if r == nil || !r.state.done() || r.change != nil {
			break
		}
		m.forget(m.start + 1)
	}
	if m.w.Start() != m.start {
		t.Fatalf("start %d, want %d", m.w.Start(), m.start)
	}
	at, done := m.w.Start(), int64(0)
	for _, b := range m.w.batches {
		if b.First != at || len(b.runs) == 0 || b.runs[0].First != b.First || b.runs[len(b.runs)-1].Last != b.Last {
			t.Fatalf("WIN-1: batch %v with runs %v at %d", b.Span, b.runs, at)
		}
		for _, r := range b.runs {
			if r.First != at || r.Last < r.First {
				t.Fatalf("WIN-1: run %v at %d", r.Span, at)
			}
			for ; at <= r.Last; at++ {
				w := m.records[at]
				if w == nil || w.state != r.state || w.count != r.count || w.member != r.member || w.change != r.change || !w.deadline.Equal(r.deadline) {
					t.Fatalf("offset %d: %+v, want %+v", at, r, w)
				}
				if w.state.done() || w.change != nil && w.to.done() {
					done++
				}
				if w.state == Archiving && w.change == nil && !covered(m.letters, at, w.count) {
					t.Fatalf("WIN-6: offset %d is archiving, and there is no letter", at)
				}
			}
		}
	}
	if at != m.w.Next() || m.w.DeliveryComplete() != done {
		t.Fatalf("ends at %d, next %d; %d complete, want %d", at, m.w.Next(), m.w.DeliveryComplete(), done)
	}
}

// TestWindowAgainstModel runs random operations on a window and on a model that keeps each record by itself.
func TestWindowAgainstModel(t *testing.T) {
	longtest.Check(t, 300, 50000, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "acquire": m.acquire, "acquire more": m.acquire, "acknowledge": m.acknowledge, "acknowledge more": m.acknowledge,
			"release": m.release, "expire": m.expire, "conclude": m.conclude, "conclude more": m.conclude, "move start": m.moveStart, "reload": m.reload, "deliver": m.deliver,
		})
	})
}
