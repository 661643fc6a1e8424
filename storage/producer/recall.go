package producer

import "github.com/samsalog/samsa/record"

// Recall finds the batches that a snapshot leaves out. A snapshot keeps one batch of each producer, yet after a
// restart a client may repeat any of the up to five that it had in flight. The owner of the log shows batch headers, window by
// window going back from Before, until Done.
type Recall struct {
	s    *State
	want map[record.ProducerID]*recalled
}

type recalled struct {
	e *entry
	// found are the batches of the current window in log order, the newest maxBatches of them.
	found []Batch
}

// Recall starts a search for the producers that have fewer batches than they may have had.
func (s *State) Recall() *Recall {
	r := &Recall{s: s, want: map[record.ProducerID]*recalled{}}
	for id, e := range s.entries {
		if mayHaveMore(e) {
			r.want[id] = &recalled{e: e}
		}
	}
	return r
}

// mayHaveMore reports whether batches of e's epoch before the oldest known one can exist.
func mayHaveMore(e *entry) bool {
	return e.count > 0 && e.count < maxBatches && e.batches[0].LastSequence >= 0 && e.batches[0].FirstSequence() > 0
}

// Wanted is the number of producers whose earlier batches are still looked for.
func (r *Recall) Wanted() int { return len(r.want) }

// Before is the offset below which the next batch to show can be: that of the newest of the oldest known batches.
func (r *Recall) Before() record.Offset {
	before := record.NoOffset
	for _, w := range r.want {
		before = max(before, w.e.batches[0].FirstOffset())
	}
	return before
}

// Show gives one batch of the current window; within a window batches come in log order.
func (r *Recall) Show(h *record.Header) {
	w := r.want[h.ProducerID]
	if w == nil || h.IsControl() || h.ProducerEpoch != w.e.epoch || h.LastOffset() >= w.e.batches[0].FirstOffset() {
		return
	}
	if len(w.found) == maxBatches {
		copy(w.found, w.found[1:])
		w.found = w.found[:maxBatches-1]
	}
	w.found = append(w.found, batchOf(h))
}

// EndWindow takes in what the window showed. The next window lies before it.
func (r *Recall) EndWindow() {
	for id, w := range r.want {
		take := min(len(w.found), maxBatches-w.e.count)
		if take > 0 {
			copy(w.e.batches[take:], w.e.batches[:w.e.count])
			copy(w.e.batches[:], w.found[len(w.found)-take:])
			w.e.count += take
		}
		w.found = w.found[:0]
		if !mayHaveMore(w.e) {
			delete(r.want, id)
		}
	}
}
