package coord

import (
	"time"

	"github.com/samsalog/samsa/record"
)

// parking holds completions whose records are written but not yet committed, in log order (COORD-4). With one
// replica it is always empty.
type parking struct {
	waiting []parkedResult
	// written is the last offset that this shard has written; -1 before any.
	written record.Offset
	// timeout fires when the first of waiting has waited too long.
	timeout *Timer
}

type parkedResult struct {
	offset   record.Offset
	result   Result
	deadline time.Time
}

// settle completes a Result whose records were appended, or that had none: now if everything written so far is
// committed, else later.
func (s *shard[M]) settle(r Result) {
	if r.Done == nil {
		return
	}
	p := &s.parked
	if len(p.waiting) == 0 && (p.written < 0 || s.committed(p.written)) {
		s.finish(r, nil)
		return
	}
	p.waiting = append(p.waiting, parkedResult{p.written, r, time.Now().Add(s.o.CommitTimeout)})
	s.watchDeadline()
}

// release completes what has become committed.
func (s *shard[M]) release() {
	for p := &s.parked; len(p.waiting) > 0 && s.committed(p.waiting[0].offset); {
		s.leave(nil)
	}
	s.watchDeadline()
}

// leave completes the first that waits, with err, and what that leaves to be done.
func (s *shard[M]) leave(err error) {
	p := &s.parked
	first := p.waiting[0]
	p.waiting = p.waiting[1:]
	s.finish(first.result, err)
	s.flush()
}

// watchDeadline keeps the timer on the first that waits.
func (s *shard[M]) watchDeadline() {
	p := &s.parked
	switch {
	case len(p.waiting) == 0:
		p.timeout.Stop()
	case p.timeout.Running():
	case p.timeout == nil:
		p.timeout = s.timers.AfterFunc(time.Until(p.waiting[0].deadline), s.overdue)
	default:
		p.timeout.Reset(time.Until(p.waiting[0].deadline))
	}
}

// overdue fails what has waited too long. The records stay written and applied: they may still be committed.
func (s *shard[M]) overdue() Result {
	for p := &s.parked; len(p.waiting) > 0 && !time.Now().Before(p.waiting[0].deadline); {
		s.leave(errTimedOut(p.waiting[0].offset))
	}
	return Result{}
}

// fail completes everything that waits with err. What the completions leave to be done is not done: the shard
// is going away.
func (p *parking) fail(err error) {
	for _, w := range p.waiting {
		w.result.Done(err)
	}
	p.waiting = nil
}
