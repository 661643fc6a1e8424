package logdir

import (
	"sync"
	"time"
)

// delayWorkers bounds how many delayed functions run at the same time (background.threads).
const delayWorkers = 10

// delays runs functions later, until it is stopped. What has not begun by then is dropped: whatever it would have done
// must be found and done by the next start.
type delays struct {
	report func(Event)
	slots  chan struct{}
	// running counts the functions that have begun or wait for a slot.
	running sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	next    int64
	timers  map[int64]*time.Timer
}

func newDelays(report func(Event)) *delays {
	return &delays{report: report, slots: make(chan struct{}, delayWorkers), timers: map[int64]*time.Timer{}}
}

// after runs f once d has passed, on a goroutine of its own.
func (s *delays) after(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	id := s.next
	s.next++
	s.timers[id] = time.AfterFunc(d, func() {
		if s.begin(id) {
			s.run(f)
		}
	})
}

// begin takes a timer that went off out of the list; false when it was stopped meanwhile.
func (s *delays) begin(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	delete(s.timers, id)
	s.running.Add(1)
	return true
}

func (s *delays) run(f func()) {
	defer s.running.Done()
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	if err := protect(func() error { f(); return nil }); err != nil {
		s.report(Event{Kind: TaskFailed, Task: "delayed work", Err: err})
	}
}

// stop drops what has not begun and waits for what has.
func (s *delays) stop() {
	s.mu.Lock()
	s.stopped = true
	for _, t := range s.timers {
		t.Stop()
	}
	s.timers = nil
	s.mu.Unlock()
	s.running.Wait()
}
