package group

import (
	"context"
	"time"
)

// Caller is the client that a request comes from.
type Caller struct {
	// ClientID is the client id of the request header, "" when it was null.
	ClientID string
	// ClientHost is the peer's address as Kafka shows it, with the leading slash ("/127.0.0.1").
	ClientHost string
	// Wait parks the request until done is closed (true), the time is over or the client has gone (false).
	// nil: the request waits for done or for its context.
	Wait func(done <-chan struct{}, timeout time.Duration) bool
	// Gone is closed when the client's connection ends. nil: it is not known, ids that were handed out but not
	// used are then kept for their session timeout, as Kafka does.
	Gone <-chan struct{}
}

// waitLimit is the longest that a join or sync is parked: the largest rebalance timeout that a request can name.
const waitLimit = (1<<31 - 1) * time.Millisecond

// park waits for a rebalance; false means that nobody will read the answer.
func (c Caller) park(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
	}
	if c.Wait != nil {
		return c.Wait(done, waitLimit)
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// answer is where one request waits for its response. Its shard gives it, once.
type answer[T any] struct {
	done  chan struct{}
	value T
	given bool
	// held keeps the response back until the records that it rests on are written.
	held bool
}

func newAnswer[T any]() *answer[T] { return &answer[T]{done: make(chan struct{})} }

// give answers the request. The first answer counts.
func (a *answer[T]) give(v T) {
	if a.given {
		return
	}
	a.given = true
	a.value = v
	if !a.held {
		close(a.done)
	}
}

// hold keeps the response back until release.
func (a *answer[T]) hold() { a.held = true }

// release lets a held response go; one that was not given yet goes when it is given.
func (a *answer[T]) release() {
	if a.held {
		a.held = false
		if a.given {
			close(a.done)
		}
	}
}

// replace puts v in the place of a response that is held, or gives it.
func (a *answer[T]) replace(v T) {
	if a.given && a.held {
		a.value = v
		return
	}
	a.give(v)
}
