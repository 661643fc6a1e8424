package share

import (
	"github.com/samsalog/samsa/internal/share/window"
)

// Outcome is what becomes of acknowledgements. Err may be read once Done is closed.
type Outcome struct {
	done chan struct{}
	err  error
}

// Done is closed when the outcome stands.
func (o *Outcome) Done() <-chan struct{} { return o.done }

// Err is nil when the states are persisted (SHR-1).
func (o *Outcome) Err() error { return o.err }

func (o *Outcome) conclude(err error) {
	o.err = err
	close(o.done)
}

// concluded is an outcome that stands already.
func concluded(err error) *Outcome {
	o := &Outcome{done: make(chan struct{})}
	o.conclude(err)
	return o
}

// write is a change on its way to the persister.
type write struct {
	change  *window.Change
	outcome *Outcome
	// expiry marks changes that hold already. Later ones may be of the same records, so it ends its request.
	expiry bool
}

// persistLocked queues a change. One goroutine at a time writes what is queued (SHR-2), all of it together, so that a
// slow persister sees few and large requests.
func (p *partition) persistLocked(c *window.Change, expiry bool) *Outcome {
	o := &Outcome{done: make(chan struct{})}
	p.mu.queue = append(p.mu.queue, write{c, o, expiry})
	if !p.mu.writing {
		p.mu.writing = true
		p.m.running.Go(p.drain)
	}
	return o
}

func (p *partition) drain() {
	for {
		writes, persist := p.nextWrites()
		if len(writes) == 0 {
			return
		}
		err := persist()
		p.settle(writes, err)
		if err != nil && fences(err) {
			p.m.o.Logger.Info("share partition is fenced", "group", p.key.Group, "partition", p.leader.TopicPartition(), "err", err)
			p.fence()
		}
	}
}

// nextWrites takes changes off the queue, and returns how to persist them.
func (p *partition) nextWrites() ([]write, func() error) {
	p.mu.Lock()
	if len(p.mu.queue) == 0 {
		p.mu.writing = false
		retired := p.mu.retired && p.idleLocked()
		p.mu.Unlock()
		if retired {
			p.fence()
		}
		return nil, nil
	}
	defer p.mu.Unlock()
	n := 0
	var states []window.StateBatch
	for n < len(p.mu.queue) {
		states = append(states, p.mu.queue[n].change.Batches...)
		n++
		if p.mu.queue[n-1].expiry {
			break
		}
	}
	writes := p.mu.queue[:n:n]
	p.mu.queue = p.mu.queue[n:]
	if p.mu.phase != active {
		return writes, func() error { return errFenced }
	}
	r := writeRequest(p.key, p.leaderEpoch, p.mu.stateEpoch, p.mu.window.Start(), p.mu.window.DeliveryComplete(), states)
	return writes, func() error { return writeAnswer(p.key, p.m.o.Persister.WriteState(p.m.ctx, r)) }
}

// settle concludes changes after they were persisted or not.
func (p *partition) settle(writes []write, err error) {
	p.mu.Lock()
	if p.mu.phase == active {
		news := false
		for _, w := range writes {
			news = p.mu.window.Conclude(w.change, err == nil) || news
			if err == nil || w.expiry {
				p.deliverLocked(w.change.Letters)
			}
		}
		if news {
			p.wakeLocked()
		}
		if next := p.mu.window.Deadline(); err != nil && !next.IsZero() {
			p.m.alarm.at(p, next) // locks that ran out during the write
		}
	}
	p.mu.Unlock()
	for _, w := range writes {
		w.outcome.conclude(err)
	}
}
