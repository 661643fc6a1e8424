package coord

import (
	"sync"

	"github.com/samsalog/samsa/record"
)

// shard is one machine with the goroutine that works it.
type shard[M Machine] struct {
	o         *Options[M]
	loads     *loads
	partition int32
	part      Partition
	epoch     record.LeaderEpoch
	// before is the shard of an earlier epoch, which may still be ending (COORD-7).
	before *shard[M]

	// wake has room for one notice: there are operations, or the high watermark may have moved.
	wake    chan struct{}
	stop    chan struct{}
	ended   chan struct{}
	settled chan struct{}

	mu struct {
		sync.Mutex
		queue []Op[M]
		// refuse is why operations are not taken; nil while they are.
		refuse error
		closed bool
	}

	// What follows belongs to the goroutine.
	machine M
	timers  *Timers
	batch   batch
	parked  parking
}

func newShard[M Machine](o *Options[M], loads *loads, partition int32, p Partition, epoch record.LeaderEpoch, before *shard[M]) *shard[M] {
	s := &shard[M]{
		o: o, loads: loads, partition: partition, part: p, epoch: epoch, before: before,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}), settled: make(chan struct{}),
		timers: NewTimers(),
	}
	s.mu.refuse = ErrLoading
	s.machine = o.New(partition, epoch, s.timers)
	return s
}

// submit queues an operation.
func (s *shard[M]) submit(op Op[M]) error {
	s.mu.Lock()
	switch {
	case s.mu.refuse != nil && !(op.Patient && s.mu.refuse == ErrLoading):
		defer s.mu.Unlock()
		return s.mu.refuse
	case len(s.mu.queue) >= QueueLimit:
		defer s.mu.Unlock()
		return ErrNotAvailable
	}
	s.mu.queue = append(s.mu.queue, op)
	s.mu.Unlock()
	s.wakeUp()
	return nil
}

func (s *shard[M]) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close makes the goroutine end; it may be called once only, by the Runtime.
func (s *shard[M]) close() {
	s.mu.Lock()
	s.mu.refuse = ErrNotCoordinator
	if !s.mu.closed {
		s.mu.closed = true
		close(s.stop)
	}
	s.mu.Unlock()
}

// serve lets operations in, unless the shard was closed meanwhile.
func (s *shard[M]) serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.closed {
		s.mu.refuse = nil
	}
}

// take empties the queue.
func (s *shard[M]) take() []Op[M] {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.mu.queue
	s.mu.queue = nil
	return q
}

func (s *shard[M]) run() {
	defer close(s.ended)
	if s.before != nil {
		<-s.before.ended
		s.before = nil
	}
	if err := s.load(); err != nil {
		s.fail(err)
		return
	}
	s.step(s.machine.Loaded())
	s.flush()
	s.serve()
	close(s.settled)
	s.work()
	s.unload()
}

// fail leaves the shard in place, so that requests are refused with NOT_COORDINATOR until the next election.
func (s *shard[M]) fail(err error) {
	select {
	case <-s.stop:
	default:
		s.o.Logger.Error("a coordinator partition cannot be read, its groups are not served", "topic", s.o.Topic, "partition", s.partition, "err", err)
	}
	s.mu.Lock()
	s.mu.refuse = ErrNotCoordinator
	s.mu.Unlock()
	s.refuse(s.take())
	s.timers.stopAll()
	close(s.settled)
}

// work serves until the shard is closed.
func (s *shard[M]) work() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
			s.operate(s.take())
		case <-s.timers.clock.C:
			s.timers.rang()
		}
		s.expire()
		s.release()
	}
}

// operate runs operations; those that share are written together, the others see everything before them applied.
func (s *shard[M]) operate(ops []Op[M]) {
	for i, op := range ops {
		select {
		case <-s.stop:
			s.refuse(ops[i:])
			return
		default:
		}
		if !op.Shares {
			s.flush()
		}
		s.step(op.Run(s.machine))
	}
	s.flush()
}

// expire runs the timers that are due.
func (s *shard[M]) expire() {
	for t := s.timers.next(); t != nil; t = s.timers.next() {
		s.step(t.run())
		s.flush()
	}
}

func (s *shard[M]) refuse(ops []Op[M]) {
	s.flush()
	for _, op := range ops {
		if op.Fail != nil {
			op.Fail(ErrNotCoordinator)
		}
	}
}

// unload answers everybody who still waits.
func (s *shard[M]) unload() {
	s.refuse(s.take())
	s.parked.fail(ErrNotCoordinator)
	s.timers.stopAll()
	s.machine.Unloaded()
}
