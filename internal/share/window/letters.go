package window

// Cause is why a record goes to a dead-letter queue.
type Cause int8

// The causes.
const (
	Rejected  Cause = 1 // a member rejected it
	Exhausted Cause = 2 // it was delivered as often as the group allows
)

// Letter is a range of records on their way to a dead-letter queue, delivered equally often and given up for the same reason.
type Letter struct {
	Span
	Count int16 // deliveries
	Cause Cause
}

// addLetter adds a letter, as one with the one before where the two are alike.
func addLetter(ls []Letter, l Letter) []Letter {
	if n := len(ls) - 1; n >= 0 && ls[n].Last+1 == l.First && ls[n].Count == l.Count && ls[n].Cause == l.Cause {
		ls[n].Last = l.Last
		return ls
	}
	return append(ls, l)
}

// Undelivered are the letters of a window that was loaded: somebody ended before their delivery was persisted. Why they were
// given up is not persisted; Kafka tells it from the number of deliveries, and so it is done here.
func (w *Window) Undelivered(l Limits) []Letter {
	var ls []Letter
	w.each(func(r *run) {
		if r.state != Archiving || r.change != nil {
			return
		}
		why := Rejected
		if int(r.count) >= l.Deliveries {
			why = Exhausted
		}
		ls = addLetter(ls, Letter{r.Span, r.count, why})
	})
	return ls
}

// Archive ends what letters are about (WIN-6); nil when nothing is left of it in the window. As with Expire the change holds
// whether or not it is persisted: at worst a letter is delivered once more.
func (w *Window) Archive(letters []Letter) *Change {
	c := &Change{}
	for _, l := range letters {
		for at := w.from(l.First); at < len(w.batches) && w.batches[at].First <= l.Last; at++ {
			b := w.batches[at]
			for i := 0; i < len(b.runs); i++ {
				s := Span{max(l.First, b.runs[i].First), min(l.Last, b.runs[i].Last)}
				if s.First > s.Last || b.runs[i].state != Archiving || b.runs[i].change != nil {
					continue
				}
				i = b.isolate(i, s)
				b.runs[i].state = Archived
				c.begin(&b.runs[i], Archived, 0)
			}
		}
	}
	if len(c.Batches) == 0 {
		return nil
	}
	return c
}
