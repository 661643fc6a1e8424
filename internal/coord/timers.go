package coord

import (
	"container/heap"
	"time"
)

// Timers are the timers of one shard. They use package time, so they run in virtual time inside a synctest
// bubble, and fire on the shard's goroutine only: no locks.
type Timers struct {
	due   timerHeap
	clock *time.Timer
	// armed is when clock rings; zero when it is stopped.
	armed time.Time
}

// Timer calls a function of the machine once, at a later time.
type Timer struct {
	owner *Timers
	at    time.Time
	index int // position in owner.due; -1 when it is not running
	run   func() Result
}

// NewTimers returns timers that nobody lets run: for a machine outside of a shard.
func NewTimers() *Timers {
	t := &Timers{clock: time.NewTimer(time.Hour)}
	t.clock.Stop()
	return t
}

// AfterFunc makes a timer that runs f on the shard's goroutine after d.
func (t *Timers) AfterFunc(d time.Duration, f func() Result) *Timer {
	x := &Timer{owner: t, index: -1, run: f}
	x.Reset(d)
	return x
}

// Reset starts the timer, again if it was running, to fire after d.
func (x *Timer) Reset(d time.Duration) {
	x.at = time.Now().Add(d)
	if x.index < 0 {
		heap.Push(&x.owner.due, x)
	} else {
		heap.Fix(&x.owner.due, x.index)
	}
	x.owner.arm()
}

// Stop makes sure that the timer does not fire. A nil Timer may be stopped.
func (x *Timer) Stop() {
	if x == nil || x.index < 0 {
		return
	}
	heap.Remove(&x.owner.due, x.index)
	x.owner.arm()
}

// Running reports whether the timer is still to fire.
func (x *Timer) Running() bool { return x != nil && x.index >= 0 }

// Len is the number of running timers.
func (t *Timers) Len() int { return len(t.due) }

// arm makes the one clock of the shard ring when the next timer is due. It is left alone if it rings earlier:
// most timers are session timers that are moved back again and again, and a clock that rings for one of those
// finds nothing due and is armed again.
func (t *Timers) arm() {
	switch {
	case len(t.due) == 0:
		t.clock.Stop()
		t.armed = time.Time{}
	case t.armed.IsZero() || t.due[0].at.Before(t.armed):
		t.armed = t.due[0].at
		t.clock.Reset(time.Until(t.armed))
	}
}

// rang is called when the clock has rung.
func (t *Timers) rang() { t.armed = time.Time{} }

// next takes the first timer that is due out of the heap; when none is, it arms the clock and returns nil.
func (t *Timers) next() *Timer {
	if len(t.due) == 0 || time.Now().Before(t.due[0].at) {
		t.arm()
		return nil
	}
	return heap.Pop(&t.due).(*Timer)
}

// stopAll forgets all timers.
func (t *Timers) stopAll() {
	for _, x := range t.due {
		x.index = -1
	}
	t.due = nil
	t.clock.Stop()
	t.armed = time.Time{}
}

type timerHeap []*Timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*Timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}

// RunFirst runs the timer that is due first, whatever the time is now, and reports whether there was one: for a
// machine outside of a shard.
func (t *Timers) RunFirst() (Result, bool) {
	if len(t.due) == 0 {
		return Result{}, false
	}
	return heap.Pop(&t.due).(*Timer).run(), true
}
