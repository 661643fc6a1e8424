package share

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
)

// Key names a share partition.
type Key struct {
	Group     string
	Topic     record.UUID
	Partition int32
}

// phase is how far a share partition is.
type phase int8

const (
	loading phase = iota // its state is being read
	active
	failed // its state could not be read: err says why
	fenced // somebody else leads, or its state was made anew
)

// partition is one share partition under one leader epoch.
type partition struct {
	m      *Manager
	key    Key
	leader *replica.Partition
	// leaderEpoch is the epoch of the partition's leader that this is for (SHR-3).
	leaderEpoch record.LeaderEpoch
	// due and position are the alarm's, guarded by it.
	due      time.Time
	position int
	mu       struct {
		sync.Mutex
		phase      phase
		err        error
		window     *window.Window
		stateEpoch int32
		waiting    map[*replica.Wait]struct{}
		queue      []write
		writing    bool
		// letters are to be delivered, delivering says that somebody is at it, and stop breaks that off.
		letters    []window.Letter
		delivering bool
		stop       context.CancelFunc
		// retired says that nobody has a session of the group any more: fence it when nothing is under way.
		retired bool
	}
}

func (p *partition) settings() Settings { return p.m.o.Settings(p.key.Group) }

// watch adds a fetch that wants to know when there is more to be had; forget takes it out.
func (p *partition) watch(w *replica.Wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.waiting == nil {
		p.mu.waiting = map[*replica.Wait]struct{}{}
	}
	p.mu.waiting[w] = struct{}{}
}

func (p *partition) forget(w *replica.Wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.waiting, w)
}

// wakeLocked lets all waiting fetches look again.
func (p *partition) wakeLocked() {
	for w := range p.mu.waiting {
		w.Wake()
	}
	clear(p.mu.waiting)
}

// state is the phase, and the error of a failed one.
func (p *partition) state() (phase, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.phase, p.mu.err
}

// fence ends the share partition: what is not persisted is forgotten (SHR-3).
func (p *partition) fence() {
	p.m.remove(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.phase != failed {
		p.mu.phase = fenced
	}
	p.mu.window = nil
	if p.mu.stop != nil {
		p.mu.stop()
	}
	p.wakeLocked()
	p.m.alarm.stop(p)
}

// acknowledge begins what a member says of its records. The outcome stands when it is persisted (SHR-1).
func (p *partition) acknowledge(member string, acks []window.Ack) *Outcome {
	s := p.settings()
	terms := window.Terms{Limits: s.limits()}
	if s.Renew {
		terms.Renewed = time.Now().Add(s.LockDuration)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.phase != active {
		return concluded(kerr.NotLeaderForPartition)
	}
	c, err := p.mu.window.Acknowledge(member, acks, terms)
	if err != nil {
		return concluded(acknowledgeError(err))
	}
	if s.Renew {
		p.m.alarm.at(p, terms.Renewed)
	}
	p.m.counters.acknowledged(acks, p.mu.window.Start())
	if c == nil {
		return concluded(nil)
	}
	return p.persistLocked(c, false)
}

func acknowledgeError(err error) error {
	if err == window.ErrRequest {
		return kerr.InvalidRequest
	}
	return kerr.InvalidRecordState
}

// releaseAll begins to give back what a member has.
func (p *partition) releaseAll(member string) *Outcome {
	s := p.settings()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.phase != active {
		return concluded(nil)
	}
	c := p.mu.window.ReleaseAll(member, s.limits())
	if c == nil {
		return concluded(nil)
	}
	return p.persistLocked(c, false)
}

// expire takes back records whose locks ran out, and sets the alarm for the next ones.
func (p *partition) expire(now time.Time) {
	s := p.settings()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.phase != active {
		return
	}
	if c := p.mu.window.Expire(now, s.limits()); c != nil {
		p.m.counters.expired(c)
		p.persistLocked(c, true)
		p.wakeLocked()
	}
	if next := p.mu.window.Deadline(); !next.IsZero() {
		p.m.alarm.at(p, next)
	}
}

// retire fences the share partition when its writes and letters are through: the group has no session left, and everything
// that its members had was given back.
func (p *partition) retire() {
	p.mu.Lock()
	p.mu.retired = true
	idle := p.idleLocked()
	p.mu.Unlock()
	if idle {
		p.fence()
	}
}

// idleLocked reports whether nothing is under way.
func (p *partition) idleLocked() bool {
	return !p.mu.writing && !p.mu.delivering && p.mu.phase != loading
}

// keep takes a retirement back: somebody fetches again.
func (p *partition) keep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.retired = false
}
