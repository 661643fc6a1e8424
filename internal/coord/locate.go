package coord

import (
	"context"
	"time"

	"github.com/samsalog/samsa/record"
)

// Topic is an incarnation of a coordinator's topic.
type Topic struct {
	ID         record.UUID
	Partitions int32
}

// SettleLimit is how long a partition that is being read is waited for: long enough for a new or small one, short enough
// for a client that would be told to ask again anyway.
const SettleLimit = 500 * time.Millisecond

// Locate returns the partition that a key (a group id, a transactional id) belongs to, for FindCoordinator. The topic is
// made if it does not exist. A partition that is being read is waited for a little, so that the request which follows
// finds its coordinator ready.
func (r *Runtime[M]) Locate(ctx context.Context, key string) (int32, error) {
	if err := r.create(); err != nil {
		return 0, err
	}
	p, err := r.PartitionOf(key)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, SettleLimit)
	defer cancel()
	select {
	case <-r.Settled(p):
	case <-ctx.Done():
	}
	return p, nil
}

// create makes the topic if it is missing, once for all who ask at the same time.
func (r *Runtime[M]) create() error {
	if _, ok := r.o.Find(); ok || r.o.Create == nil {
		return nil
	}
	r.creating.Lock()
	defer r.creating.Unlock()
	if _, ok := r.o.Find(); ok {
		return nil
	}
	return r.o.Create()
}

// PartitionOf returns the partition that a key belongs to (COORD-8).
func (r *Runtime[M]) PartitionOf(key string) (int32, error) {
	t, ok := r.o.Find()
	if !ok || t.Partitions <= 0 {
		return 0, ErrNotCoordinator
	}
	known := r.known.Load()
	if known == nil || known.ID != t.ID {
		r.known.CompareAndSwap(known, &t)
		known = r.known.Load()
	}
	if known.Partitions != t.Partitions {
		r.o.Logger.Error("the number of partitions of a coordinator's topic has changed, what it holds cannot be found; restart to accept it",
			"topic", r.o.Topic, "was", known.Partitions, "is", t.Partitions)
		return 0, ErrNotAvailable
	}
	return PartitionFor(key, t.Partitions), nil
}
