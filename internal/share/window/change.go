package window

import (
	"time"

	"github.com/samsalog/samsa/record"
)

// Type is what a member says of a record, with its number in ShareAcknowledge.
type Type int8

// The types of acknowledgement.
const (
	Gap     Type = 0 // there is no such record
	Accept  Type = 1
	Release Type = 2 // deliver it again, to anybody
	Reject  Type = 3 // do not deliver it again
	Renew   Type = 4 // more time (KIP-1222)
)

// Known reports whether t is one of the types.
func (t Type) Known() bool { return t >= Gap && t <= Renew }

// Ack acknowledges a range. Types has one element for all of its records, or one for each.
type Ack struct {
	Span
	Types []int8
}

// at is the type for an offset of the range, and up to which offset the same holds.
func (a *Ack) at(offset, last record.Offset) (Type, record.Offset) {
	if len(a.Types) == 1 {
		return Type(a.Types[0]), last
	}
	i := int(offset - a.First)
	t := a.Types[i]
	for offset < last && a.Types[i+1] == t {
		i++
		offset++
	}
	return Type(t), offset
}

// Change is what became of some records, to be persisted. It must be handed to Conclude.
type Change struct {
	// Batches are the new states, in the order in which they were made.
	Batches []StateBatch
	// Letters are those of them that go to a dead-letter queue once they are persisted, see letters.go.
	Letters []Letter
}

// Terms say how acknowledgements are judged.
type Terms struct {
	Limits
	// Renewed is the deadline of locks that are renewed; the zero time refuses renewal.
	Renewed time.Time
}

// Acknowledge begins what a member says of records that it acquired. Nothing is done of a request with a bad range,
// except that renewals before it stay (as in Kafka). Types must be known, and one or as many as the range has offsets.
// The change is nil when there is nothing to persist.
func (w *Window) Acknowledge(member string, acks []Ack, t Terms) (*Change, error) {
	c := &Change{}
	for i := range acks {
		if err := w.acknowledge(c, member, &acks[i], t); err != nil {
			w.Conclude(c, false)
			return nil, err
		}
	}
	if len(c.Batches) == 0 {
		return nil, nil
	}
	return c, nil
}

func (w *Window) acknowledge(c *Change, member string, a *Ack, t Terms) error {
	if a.Last < w.start {
		return nil // done long ago
	}
	at, err := w.cover(a.Span)
	if err != nil {
		return err
	}
	for ; at < len(w.batches) && w.batches[at].First <= a.Last; at++ {
		b := w.batches[at]
		for i := 0; i < len(b.runs) && b.runs[i].First <= a.Last; i++ {
			r := &b.runs[i]
			first, last := max(r.First, a.First), min(r.Last, a.Last)
			if first > last {
				continue
			}
			if r.state != Acquired || r.change != nil || r.member != member {
				return ErrRecordState
			}
			kind, until := a.at(first, last)
			i = b.isolate(i, Span{first, until})
			if err := c.judge(&b.runs[i], kind, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// cover finds the first batch of a range, which must end inside of a batch and must not begin behind it.
func (w *Window) cover(s Span) (int, error) {
	end := w.from(s.Last)
	if end < len(w.batches) && w.batches[end].First > s.Last {
		end = len(w.batches)
	}
	at := w.from(s.First)
	none := at == len(w.batches) || w.batches[at].First > s.First
	switch {
	case len(w.batches) == 0, none && s.First < w.batches[0].First && s.First >= w.start:
		return 0, ErrRecordState
	case end == len(w.batches):
		return 0, ErrRequest
	}
	return at, nil
}

// judge takes in what a member says of a run that it has.
func (c *Change) judge(r *run, kind Type, t Terms) error {
	switch kind {
	case Renew:
		if t.Renewed.IsZero() {
			return ErrRecordState
		}
		r.deadline = t.Renewed
		return nil
	case Accept:
		c.begin(r, Acknowledged, 0)
	case Release:
		c.begin(r, t.released(r.count), Exhausted)
	case Reject:
		c.begin(r, t.archived(), Rejected)
	case Gap:
		c.begin(r, Archived, 0)
	default:
		return ErrRequest
	}
	return nil
}

// begin puts a run under the change. why is said of a run that is given up.
func (c *Change) begin(r *run, to State, why Cause) {
	r.change, r.to = c, to
	c.add(r.Span, to, r.count)
	if to == Archiving {
		c.Letters = addLetter(c.Letters, Letter{r.Span, r.count, why})
	}
}

// add notes a state, as one with the state before where the two are alike.
func (c *Change) add(s Span, to State, count int16) {
	if l := len(c.Batches) - 1; l >= 0 && c.Batches[l].Last+1 == s.First && c.Batches[l].State == to && c.Batches[l].Count == count {
		c.Batches[l].Last = s.Last
		return
	}
	c.Batches = append(c.Batches, StateBatch{Span: s, State: to, Count: count})
}

// ReleaseAll begins to give back everything that a member has; nil when that is nothing. The delivery counts: what was
// sent may have been seen.
func (w *Window) ReleaseAll(member string, l Limits) *Change {
	c := &Change{}
	w.each(func(r *run) {
		if r.state == Acquired && r.change == nil && r.member == member {
			c.begin(r, l.released(r.count), Exhausted)
		}
	})
	if len(c.Batches) == 0 {
		return nil
	}
	return c
}

// Expire takes back the records whose locks have run out; nil when there are none. It does not wait for the change to
// be persisted, and holds whether or not that works.
func (w *Window) Expire(now time.Time, l Limits) *Change {
	c := &Change{}
	for _, b := range w.batches {
		before := len(c.Batches)
		for i := range b.runs {
			r := &b.runs[i]
			if r.state != Acquired || r.change != nil || r.deadline.After(now) {
				continue
			}
			r.state, r.member, r.deadline = l.released(r.count), "", time.Time{}
			if r.state == Available {
				w.seek = true
			} else {
				c.begin(r, r.state, Exhausted) // the start passes it when that is persisted
				continue
			}
			c.add(r.Span, r.state, r.count)
		}
		if len(c.Batches) > before {
			b.join()
		}
	}
	if len(c.Batches) == 0 {
		return nil
	}
	return c
}

// Conclude ends a change: persisted, its states hold; otherwise the records are acquired as before, and a lock that ran
// out meanwhile is found by the next Expire. It reports whether there is more to be had than before.
func (w *Window) Conclude(c *Change, persisted bool) (news bool) {
	start := w.start
	for _, s := range c.Batches {
		for at := w.from(s.First); at < len(w.batches) && w.batches[at].First <= s.Last; at++ {
			b := w.batches[at]
			for i := range b.runs {
				r := &b.runs[i]
				if r.change != c || r.First > s.Last || r.Last < s.First {
					continue
				}
				r.change = nil
				if persisted {
					r.state, r.member, r.deadline = r.to, "", time.Time{}
					w.seek = w.seek || r.state == Available
					news = news || r.state == Available
				}
				r.to = 0
			}
			b.join()
		}
	}
	w.advance()
	return news || w.start != start
}
