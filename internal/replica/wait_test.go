package replica

import (
	"sync"
	"testing"

	"github.com/samsalog/samsa/storage"
)

func finished(w *Wait) bool {
	select {
	case <-w.Done():
		return true
	default:
		return false
	}
}

// TestF11WaitOnAllPartitions: a record in the second partition of a request ends the wait at once, and
// bytes add up over all of them.
func TestF11WaitOnAllPartitions(t *testing.T) {
	var a, b Partition
	w := NewWait(storage.HighWatermark, 100)
	defer w.Stop()
	w.Watch(&a)
	w.Watch(&b)
	a.watch.advanced(60, false)
	if finished(w) {
		t.Fatal("finished after 60 of 100 bytes")
	}
	b.watch.advanced(40, false)
	if !finished(w) {
		t.Fatal("not finished after 100 bytes in two partitions")
	}
}

// TestF05CommittedReadersWakeOnStableOffset: appends alone say nothing to read_committed readers; a last
// stable offset that moves does.
func TestF05CommittedReadersWakeOnStableOffset(t *testing.T) {
	var p Partition
	w := NewWait(storage.TxnCommitted, 1)
	defer w.Stop()
	w.Watch(&p)
	p.watch.advanced(1000, false)
	if finished(w) {
		t.Fatal("woken by records of an open transaction")
	}
	p.watch.advanced(78, true)
	if !finished(w) {
		t.Fatal("not woken by the last stable offset")
	}
}

// TestF12FinishedWaitsLeaveNothing: after Stop no watch list holds the wait, however it ended.
func TestF12FinishedWaitsLeaveNothing(t *testing.T) {
	parts := make([]Partition, 50)
	var readers sync.WaitGroup
	for range 20 {
		readers.Go(func() {
			for range 50 {
				w := NewWait(storage.HighWatermark, 10)
				for i := range parts {
					w.Watch(&parts[i])
				}
				parts[7].watch.advanced(10, false)
				w.Stop()
			}
		})
	}
	readers.Wait()
	for i := range parts {
		if n, l := parts[i].watch.n.Load(), parts[i].watch.mu.waits.Len(); n != 0 || l != 0 {
			t.Fatalf("partition %d: %d waits counted, %d held", i, n, l)
		}
	}
}

// TestChangeWakesEverybody: deletion and a new leader must reach readers before their time is over.
func TestChangeWakesEverybody(t *testing.T) {
	var p Partition
	a, b := NewWait(storage.HighWatermark, 1<<30), NewWait(storage.TxnCommitted, 1<<30)
	a.Watch(&p)
	b.Watch(&p)
	p.watch.changed()
	p.watch.changed()
	if !finished(a) || !finished(b) {
		t.Fatal("a wait survived the change")
	}
	a.Stop()
	b.Stop()
}
