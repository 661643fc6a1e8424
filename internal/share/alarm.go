package share

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// alarm rings when the lock of a record may have run out (SHR-4): one timer, and a heap of the share partitions by when
// they want to look. A lock costs nothing here; a share partition whose records were all acknowledged in time looks once
// and sets the alarm again.
type alarm struct {
	ring chan struct{} // the head of the heap came forward; holds one
	mu   struct {
		sync.Mutex
		due dueHeap
	}
}

func newAlarm() *alarm { return &alarm{ring: make(chan struct{}, 1)} }

// at sets the alarm of p to t, unless it rings earlier.
func (a *alarm) at(p *partition, t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case p.position < 0:
		p.due = t
		heap.Push(&a.mu.due, p)
	case t.Before(p.due):
		p.due = t
		heap.Fix(&a.mu.due, p.position)
	default:
		return
	}
	if p.position == 0 {
		select {
		case a.ring <- struct{}{}:
		default:
		}
	}
}

// stop takes p out.
func (a *alarm) stop(p *partition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.position >= 0 {
		heap.Remove(&a.mu.due, p.position)
	}
}

// next takes out a share partition that is due, or tells how long to wait for the first.
func (a *alarm) next(now time.Time) (*partition, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.mu.due) == 0 {
		return nil, -1
	}
	if first := a.mu.due[0]; first.due.After(now) {
		return nil, first.due.Sub(now)
	}
	return heap.Pop(&a.mu.due).(*partition), 0
}

// run lets share partitions look at their locks until ctx ends.
func (a *alarm) run(ctx context.Context) {
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	for {
		now := time.Now()
		p, wait := a.next(now)
		if p != nil {
			p.expire(now)
			continue
		}
		clock.Stop()
		if wait > 0 {
			clock.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-a.ring:
		case <-clock.C:
		}
	}
}

type dueHeap []*partition

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}
func (h *dueHeap) Push(x any) {
	p := x.(*partition)
	p.position = len(*h)
	*h = append(*h, p)
}
func (h *dueHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	p.position = -1
	return p
}
