package storage

import (
	"fmt"
)

// failure is why a log takes no more writes.
type failure struct{ err error }

// Err is the first failed write or fsync; nil as long as there was none.
func (l *Log) Err() error {
	if f := l.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

// fail latches the log (LOG-4) and returns what the caller is to be told.
func (l *Log) fail(doing string, cause error) error {
	err := storageError(fmt.Errorf("%s of %v in %s: %w", doing, l.o.TopicPartition, l.Dir(), cause))
	l.failure.CompareAndSwap(nil, &failure{err})
	return err
}

// usableLocked refuses what changes the log once it is closed or has failed; mu is held.
func (l *Log) usableLocked() error {
	if l.mu.closed {
		return ErrClosed
	}
	return l.Err()
}

// event remembers what a person should hear until no lock is held.
func (l *Log) event(e Event) {
	e.TopicPartition = l.o.TopicPartition
	l.pending.Lock()
	l.pending.events = append(l.pending.events, e)
	l.pending.some.Store(true)
	l.pending.Unlock()
}

// tell calls the owner's callbacks for what has happened. Every method that can cause it defers it first, so that it
// runs last, outside of every lock.
func (l *Log) tell() {
	if l.pending.some.Load() {
		l.pending.Lock()
		events := l.pending.events
		l.pending.events = nil
		l.pending.some.Store(false)
		l.pending.Unlock()
		for _, e := range events {
			l.o.Observe(e)
		}
	}
	if f := l.failure.Load(); f != nil {
		l.failOnce.Do(func() { l.o.OnFailure(f.err) })
	}
}
