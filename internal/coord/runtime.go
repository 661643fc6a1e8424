package coord

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/samsalog/samsa/record"
)

const (
	// QueueLimit bounds the operations that wait for one shard. Every client connection has at most one request
	// under way, so this is far above what a healthy broker sees; beyond it operations are refused.
	QueueLimit = 16384
	// DefaultLoadBufferBytes is Kafka's offsets.load.buffer.size.
	DefaultLoadBufferBytes = 5 << 20
	// DefaultCommitTimeout is Kafka's offsets.commit.timeout.ms.
	DefaultCommitTimeout = 5 * time.Second
)

// Options configure a Runtime.
type Options[M Machine] struct {
	// Topic names the coordinator's topic, for log lines.
	Topic string
	// Find gives the topic of the present metadata; false while there is none. Create makes it; it returns nil if it
	// exists, and then this node has been told of its partitions. nil: the topic is never made.
	Find   func() (Topic, bool)
	Create func() error
	// New makes the empty machine of a shard that is about to be read. epoch is the coordinator epoch: the leader
	// epoch of the shard's partition.
	New func(partition int32, epoch record.LeaderEpoch, timers *Timers) M
	// Codec is how the batches are compressed.
	Codec func() record.Codec
	// BaseSequence is that of the batches: Kafka's group coordinator writes 0, its transaction coordinator -1.
	BaseSequence record.Sequence
	// CommitTimeout bounds how long completions wait for the high watermark; default DefaultCommitTimeout.
	CommitTimeout time.Duration
	// LoadBufferBytes is the size of one read of a partition that is loaded; default DefaultLoadBufferBytes.
	LoadBufferBytes int
	// AppendError says what an error of Partition.Append means (one of this package's errors); nil for those
	// it does not know. Optional.
	AppendError func(error) error
	// Now stamps records; default time.Now.
	Now func() time.Time
	// Logger is told what a person should know; default: nobody is told.
	Logger *slog.Logger
}

// Runtime holds the shards of one coordinator topic that this node leads.
type Runtime[M Machine] struct {
	o  Options[M]
	wg sync.WaitGroup
	// known is the topic as it was seen first (COORD-8).
	known    atomic.Pointer[Topic]
	creating sync.Mutex
	loads    loads
	mu       struct {
		sync.RWMutex
		shards map[int32]*shard[M]
		// last is the newest shard of a partition, gone ones included, until it has ended (COORD-7).
		last   map[int32]*shard[M]
		closed bool
	}
}

// NewRuntime returns a Runtime without shards.
func NewRuntime[M Machine](o Options[M]) *Runtime[M] {
	if o.CommitTimeout <= 0 {
		o.CommitTimeout = DefaultCommitTimeout
	}
	if o.LoadBufferBytes <= 0 {
		o.LoadBufferBytes = DefaultLoadBufferBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Find == nil {
		o.Find = func() (Topic, bool) { return Topic{}, false }
	}
	if o.Codec == nil {
		o.Codec = func() record.Codec { return record.None }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Runtime[M]{o: o}
	r.mu.shards = map[int32]*shard[M]{}
	r.mu.last = map[int32]*shard[M]{}
	return r
}

// Elected makes this node the coordinator of a partition: its records are read in the background. A notice of
// an epoch that is not newer than the present one is ignored.
func (r *Runtime[M]) Elected(partition int32, p Partition) {
	epoch := p.LeaderEpoch()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return
	}
	if old := r.mu.shards[partition]; old != nil {
		if old.epoch >= epoch {
			return
		}
		old.close()
	}
	s := newShard(&r.o, &r.loads, partition, p, epoch, r.mu.last[partition])
	r.mu.shards[partition] = s
	r.mu.last[partition] = s
	r.wg.Go(func() {
		s.run()
		r.forget(partition, s)
	})
}

// forget lets go of a shard that has ended.
func (r *Runtime[M]) forget(partition int32, s *shard[M]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.last[partition] == s {
		delete(r.mu.last, partition)
	}
}

// Resigned ends the shard of a partition that this node no longer leads. Who waits for an answer gets
// ErrNotCoordinator.
func (r *Runtime[M]) Resigned(partition int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.mu.shards[partition]; s != nil {
		delete(r.mu.shards, partition)
		s.close()
	}
}

// Advanced tells the shard of a partition that its high watermark may have moved. Partitions whose records are
// committed when Append returns need not call it.
func (r *Runtime[M]) Advanced(partition int32) {
	if s := r.shard(partition); s != nil {
		s.wakeUp()
	}
}

// Submit hands an operation to the shard of a partition. If it returns nil, the operation is completed later
// (COORD-2); an error (ErrNotCoordinator, ErrLoading, ErrNotAvailable) means that it was not accepted.
func (r *Runtime[M]) Submit(partition int32, op Op[M]) error {
	s := r.shard(partition)
	if s == nil {
		return ErrNotCoordinator
	}
	return s.submit(op)
}

// StartVerification begins to check that a producer's transaction has the partition (KIP-890). The guard goes into
// Result.Txn; producer.NoGuard means that the transaction is known here already and nobody need be asked.
// epochBumps: the client speaks transaction version 2.
func (r *Runtime[M]) StartVerification(partition int32, id record.ProducerID, epoch record.ProducerEpoch, epochBumps bool) (int64, error) {
	s := r.shard(partition)
	if s == nil {
		return 0, ErrNotCoordinator
	}
	log := s.part.Log()
	if log == nil {
		return 0, ErrNotCoordinator
	}
	return log.StartVerification(id, record.NoSequence, epoch, epochBumps), nil
}

// Partitions lists the partitions that have a shard here, loading ones included, in no order.
func (r *Runtime[M]) Partitions() []int32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]int32, 0, len(r.mu.shards))
	for p := range r.mu.shards {
		out = append(out, p)
	}
	return out
}

// Settled returns a channel that is closed when the partition's shard has been read or has ended; closed
// already when there is none.
func (r *Runtime[M]) Settled(partition int32) <-chan struct{} {
	if s := r.shard(partition); s != nil {
		return s.settled
	}
	c := make(chan struct{})
	close(c)
	return c
}

func (r *Runtime[M]) shard(partition int32) *shard[M] {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.mu.shards[partition]
}

// Close ends all shards and waits for them.
func (r *Runtime[M]) Close() {
	r.mu.Lock()
	r.mu.closed = true
	for p, s := range r.mu.shards {
		delete(r.mu.shards, p)
		s.close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// Queued is how many operations wait for the shard of a partition.
func (r *Runtime[M]) Queued(partition int32) int {
	s := r.shard(partition)
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.queue)
}
