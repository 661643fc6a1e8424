package cleaner

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/throttle"
)

// Options is all that a Cleaner is given.
type Options struct {
	// Settings are asked for before each round.
	Settings func() Settings
	// Logs are the logs that are open now, those that are not compacted included; Alive reports whether a log is still
	// one of them (nil: it is).
	Logs  func() []*storage.Log
	Alive func(*storage.Log) bool
	// FirstDirty returns the cleaner checkpoint of a log, false if it has none; SaveFirstDirty makes one durable.
	FirstDirty     func(*storage.Log) (record.Offset, bool)
	SaveFirstDirty func(*storage.Log, record.Offset) error
	// Now is the clock for records; nil: time.Now.
	Now func() time.Time
	// Observe hears what a person should know; may be nil. It runs outside of every lock.
	Observe func(Event)
}

// Cleaner compacts the logs of a broker.
type Cleaner struct {
	o        Options
	throttle *throttle.Throttle
	ctx      context.Context
	cancel   context.CancelFunc
	threads  sync.WaitGroup

	mu struct {
		sync.Mutex
		started, closed bool
		// running counts the threads, which have the numbers below it.
		running int
		parts   map[*storage.Log]*part
	}
}

// part is what is known of one log; guarded by Cleaner.mu. Of a partition that is deleted and created again nothing is
// known.
type part struct {
	status Status
	// holds counts who wants the log left alone. abort and done belong to what is going on, nil: nothing.
	holds       int
	abort       context.CancelFunc
	done        chan struct{}
	uncleanable bool
	// seen: it was looked at, as a compacted log.
	seen bool
}

// New returns a Cleaner; Start starts it.
func New(o Options) *Cleaner {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Alive == nil {
		o.Alive = func(*storage.Log) bool { return true }
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	c := &Cleaner{o: o, throttle: throttle.New(func() float64 { return o.Settings().IOMaxBytesPerSecond })}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.mu.parts = map[*storage.Log]*part{}
	return c
}

// Start runs the threads until Close.
func (c *Cleaner) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.started || c.mu.closed {
		return
	}
	c.mu.started = true
	c.spawnLocked()
}

func (c *Cleaner) spawnLocked() {
	i := c.mu.running
	c.mu.running++
	c.threads.Go(func() { c.work(i) })
}

// Close stops what is going on and waits for it.
func (c *Cleaner) Close() {
	c.mu.Lock()
	c.mu.closed = true
	c.mu.Unlock()
	c.cancel()
	c.threads.Wait()
}

// work is thread i. Thread 0 sees to it that there are as many as the settings say; those above that number end.
func (c *Cleaner) work(i int) {
	for {
		s := c.o.Settings()
		if !c.staff(i, max(1, s.Threads)) {
			return
		}
		if c.round(s) {
			continue
		}
		timer := time.NewTimer(max(s.Backoff, time.Millisecond))
		select {
		case <-c.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// staff starts threads that are missing; false: thread i is to end.
func (c *Cleaner) staff(i, want int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return false
	}
	if i == c.mu.running-1 && i >= want { // the last one goes first, so that the numbers stay dense
		c.mu.running--
		return false
	}
	for i == 0 && c.mu.running < want {
		c.spawnLocked()
	}
	return true
}

// Round compacts the dirtiest log, if one is dirty enough, and lets retention delete what it may of compacted logs. It
// reports whether a log was compacted. The threads do nothing else.
func (c *Cleaner) Round() bool { return c.round(c.o.Settings()) }

func (c *Cleaner) round(s Settings) bool {
	cleaned := false
	if x := c.claimDirtiest(); x != nil {
		cleaned = c.clean(x, s)
	}
	c.retain()
	c.prune()
	return cleaned && c.ctx.Err() == nil
}

// claim takes a log for the caller until release is called. False: somebody else has it, or it is gone. cleaning: what
// is uncleanable is refused too.
func (c *Cleaner) claim(l *storage.Log, cleaning bool) (ctx context.Context, release func(), ok bool) {
	ctx, release, ok = c.take(l, cleaning)
	// Who deletes a log holds it until it is no longer alive: a log that is alive now cannot go before it is released.
	if ok && !c.o.Alive(l) {
		release()
		return nil, nil, false
	}
	return ctx, release, ok
}

func (c *Cleaner) take(l *storage.Log, cleaning bool) (ctx context.Context, release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.partLocked(l)
	if c.mu.closed || p.holds > 0 || p.done != nil || cleaning && p.uncleanable {
		return nil, nil, false
	}
	ctx, p.abort = context.WithCancel(c.ctx)
	abort, done := p.abort, make(chan struct{})
	p.done = done
	return ctx, func() {
		abort()
		c.mu.Lock()
		p.abort, p.done = nil, nil
		c.mu.Unlock()
		close(done)
	}, true
}

func (c *Cleaner) partLocked(l *storage.Log) *part {
	p := c.mu.parts[l]
	if p == nil {
		p = &part{status: Status{TopicPartition: l.TopicPartition()}}
		c.mu.parts[l] = p
	}
	return p
}

// Hold aborts what is going on in a log, waits until it has ended, and lets nothing begin before the returned function
// is called. Holds add up.
func (c *Cleaner) Hold(l *storage.Log) (release func()) {
	c.mu.Lock()
	p := c.partLocked(l)
	p.holds++
	done := p.done
	if p.abort != nil {
		p.abort()
	}
	c.mu.Unlock()
	if done != nil {
		<-done
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if p.holds--; p.holds == 0 && p.done == nil && !p.seen {
			delete(c.mu.parts, l)
		}
	})
}

// prune drops what is known of logs that are gone.
func (c *Cleaner) prune() {
	c.mu.Lock()
	idle := []*storage.Log{}
	for l, p := range c.mu.parts {
		if p.holds == 0 && p.done == nil {
			idle = append(idle, l)
		}
	}
	c.mu.Unlock()
	for _, l := range idle {
		if c.o.Alive(l) {
			continue
		}
		c.mu.Lock()
		if p := c.mu.parts[l]; p != nil && p.holds == 0 && p.done == nil {
			delete(c.mu.parts, l)
		}
		c.mu.Unlock()
	}
}

// Status tells how compaction of every log stands that is compacted, or was.
func (c *Cleaner) Status() []Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Status, 0, len(c.mu.parts))
	for _, p := range c.mu.parts {
		if !p.seen {
			continue
		}
		s := p.status
		switch {
		case p.holds > 0:
			s.State = Held
		case p.done != nil:
			s.State = Running
		case p.uncleanable:
			s.State = Uncleanable
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int {
		x, y := a.TopicPartition, b.TopicPartition
		return cmp.Or(cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Partition, y.Partition))
	})
	return list
}
