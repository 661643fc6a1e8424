package storage

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
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

// failUnlessShort is fail for what can be tried again: where only room or a descriptor was missing and what had been
// begun was undone, the log goes on (LOG-9).
func (l *Log) failUnlessShort(doing string, cause error) error {
	if vfs.IsShortage(cause) && !failedSync(cause) {
		return l.short(doing, cause)
	}
	return l.fail(doing, cause)
}

// short is what the caller is told when there was nothing left to write with.
func (l *Log) short(doing string, cause error) error {
	err := fmt.Errorf("%w: %s of %v in %s: %w", ErrShortage, doing, l.o.TopicPartition, l.Dir(), cause)
	l.event(Event{Kind: Refused, File: l.Dir(), Position: -1, From: record.NoOffset, To: record.NoOffset, Err: err})
	return err
}

// failedSync reports whether err comes from an fsync: then pages that were written before may be lost, whatever the
// reason is, and only reading them back after a restart can tell.
func failedSync(err error) bool {
	if p, ok := err.(*fs.PathError); ok && p.Op == "sync" {
		return true
	}
	switch x := err.(type) {
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			if failedSync(e) {
				return true
			}
		}
		return false
	default:
		inner := errors.Unwrap(err)
		return inner != nil && failedSync(inner)
	}
}

// Fail gives the log up because its directory has failed: the files are closed without another write, and whatever is
// asked of the log from then on is answered with ErrStorage. OnFailure is not called: its owner is who calls.
func (l *Log) Fail(cause error) {
	l.failure.CompareAndSwap(nil, &failure{storageError(fmt.Errorf("%v in %s: %w", l.o.TopicPartition, l.Dir(), cause))})
	l.failOnce.Do(func() {})
	l.Abandon()
}

// usableLocked refuses what changes the log once it has failed or is closed; mu is held. The failure comes first: a log
// whose directory is offline is closed too, and its clients have to hear why.
func (l *Log) usableLocked() error {
	if err := l.Err(); err != nil || !l.mu.closed {
		return err
	}
	return ErrClosed
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
