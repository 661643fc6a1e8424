package cleaner

import (
	"context"
	"sync"
	"time"
)

// pauseAtLeast is the shortest pause that a throttle makes: Kafka looks at its rate as often.
const pauseAtLeast = 300 * time.Millisecond

// throttle holds all threads together to a number of bytes a second, read and written.
type throttle struct {
	rate func() float64

	mu sync.Mutex
	// free is when what has been asked for so far would have been done at the rate.
	free time.Time
}

// wait is told of n bytes and pauses if that is ahead of the rate.
func (t *throttle) wait(ctx context.Context, n int) error {
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
func (t *throttle) ahead(n int, now time.Time) time.Duration {
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
