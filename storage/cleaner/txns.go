package cleaner

import (
	"cmp"
	"slices"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
)

// txns follows the transactions while batches pass in log order, over all segments and groups of one run (KAFKA-8351).
type txns struct {
	// coming are aborted transactions that have not begun yet, by first offset; aborted and committed those that have.
	coming    []index.AbortedTxn
	aborted   map[record.ProducerID]*abortedTxn
	committed map[record.ProducerID]bool
	// at is the last offset that passed.
	at record.Offset
}

type abortedTxn struct {
	index.AbortedTxn
	// seen: a data batch of it is still there, so the marker and its index entry are needed.
	seen bool
}

func newTxns() *txns {
	return &txns{aborted: map[record.ProducerID]*abortedTxn{}, committed: map[record.ProducerID]bool{}, at: record.NoOffset}
}

// add tells of aborted transactions, some perhaps again.
func (t *txns) add(list []index.AbortedTxn) {
	for _, a := range list {
		if x := t.aborted[a.ProducerID]; a.LastOffset > t.at && (x == nil || x.AbortedTxn != a) {
			t.coming = append(t.coming, a)
		}
	}
	slices.SortFunc(t.coming, func(a, b index.AbortedTxn) int {
		return cmp.Or(cmp.Compare(a.FirstOffset, b.FirstOffset), cmp.Compare(a.LastOffset, b.LastOffset), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	t.coming = slices.Compact(t.coming)
}

// reach lets the aborted transactions begin that do so up to o.
func (t *txns) reach(o record.Offset) {
	t.at = o
	n := 0
	for ; n < len(t.coming) && t.coming[n].FirstOffset <= o; n++ {
		a := t.coming[n]
		if x := t.aborted[a.ProducerID]; x == nil || x.LastOffset < a.FirstOffset {
			t.aborted[a.ProducerID] = &abortedTxn{AbortedTxn: a}
		}
	}
	t.coming = t.coming[n:]
}

// data tells whether a data batch belongs to an aborted transaction.
func (t *txns) data(h *record.Header) bool {
	t.reach(h.LastOffset())
	if !h.IsTransactional() {
		return false
	}
	if x := t.aborted[h.ProducerID]; x != nil {
		if x.LastOffset >= h.BaseOffset {
			x.seen = true
			return true
		}
		delete(t.aborted, h.ProducerID) // its marker is gone already
	}
	t.committed[h.ProducerID] = true
	return false
}

// control tells whether a control batch is of no use any more: an end marker before which no data of its transaction
// is left, or one that was emptied. Of an abort marker that is still needed it returns the index entry. marker is nil
// if the batch holds none.
func (t *txns) control(h *record.Header, marker *record.EndTxnMarker) (useless bool, entry *index.AbortedTxn) {
	t.reach(h.LastOffset())
	if marker == nil {
		return h.Count == 0, nil
	}
	if marker.Type == record.ControlCommit {
		useless = !t.committed[h.ProducerID]
		delete(t.committed, h.ProducerID)
		return useless, nil
	}
	x := t.aborted[h.ProducerID]
	delete(t.aborted, h.ProducerID)
	if x == nil || !x.seen {
		return true, nil
	}
	return false, &x.AbortedTxn
}
