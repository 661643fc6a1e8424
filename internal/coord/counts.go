package coord

import (
	"sync/atomic"
	"time"
)

// Counts is a reading of what the shards of a topic do, and did.
type Counts struct {
	// Active shards serve, Loading ones read their partition, Failed ones could not.
	Active, Loading, Failed int
	// Queued is how many operations wait.
	Queued int
	// Loads is how many partitions were read since the start, LoadTime how long that took together, LongestLoad the
	// longest of them.
	Loads                 int64
	LoadTime, LongestLoad time.Duration
}

// loads counts what Counts tells of partitions that were read; any goroutine may use it.
type loads struct{ n, total, longest atomic.Int64 }

func (l *loads) add(d time.Duration) {
	l.n.Add(1)
	l.total.Add(int64(d))
	for {
		old := l.longest.Load()
		if int64(d) <= old || l.longest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// Counts reads them.
func (r *Runtime[M]) Counts() Counts {
	c := Counts{Loads: r.loads.n.Load(), LoadTime: time.Duration(r.loads.total.Load()), LongestLoad: time.Duration(r.loads.longest.Load())}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, s := range r.mu.shards {
		s.mu.Lock()
		switch s.mu.refuse {
		case nil:
			c.Active++
		case ErrLoading:
			c.Loading++
		default:
			c.Failed++
		}
		c.Queued += len(s.mu.queue)
		s.mu.Unlock()
	}
	return c
}
