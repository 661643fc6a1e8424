package throttle

import (
	"context"
	"sync"
	"time"
)

// pauseAtLeast is the shortest pause that a throttle makes: Kafka looks at its rate as often.
const pauseAtLeast = 300 * time.Millisecond

// Throttle holds all goroutines that use it together to a number of bytes a second.
type Throttle struct {
	rate func() float64

	mu sync.Mutex
	// free is when what has been asked for so far would have been done at the rate.
	free time.Time
}

// New returns a Throttle. rate is asked for the bytes a second whenever bytes are told of; 0 or less: no limit.
func New(rate func() float64) *Throttle { return &Throttle{rate: rate} }

// Wait is told of n bytes and pauses if that is ahead of the rate. It returns the error of ctx when that ends first.
func (t *Throttle) Wait(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ahead := t.ahead(n, time.Now())
	if ahead < pauseAtLeast {
		return nil
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ahead adds n bytes and returns by how much they are ahead of now.
func (t *Throttle) ahead(n int, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free.Before(now) {
		t.free = now
	}
	if rate := t.rate(); rate > 0 {
		t.free = t.free.Add(time.Duration(min(float64(n)/rate, 3600) * float64(time.Second)))
	}
	return t.free.Sub(now)
}
