package storage

import (
	"sync"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// maxUnindexed is how many bytes of log may be on disk above the recovery point, because only the log was fsynced for who
// waits for his records. A crash makes the start read that much more, a few milliseconds; index entries of it are due every
// 4 KiB, and to fsync them with each group of records would be two further fsyncs on the way of an acknowledgement.
const maxUnindexed = 4 << 20

// SyncedOffset is the first offset whose records are not known to be on disk; at or above the recovery point, which also
// tells of indexes and producers.
func (l *Log) SyncedOffset() record.Offset {
	return record.Offset(max(l.synced.Load(), l.recoveryPoint.Load()))
}

// RaiseRecoveryPoint flushes everything if records were fsynced alone since the last flush. Its owner calls it now and then,
// so that a crash makes the start read little even of many logs.
func (l *Log) RaiseRecoveryPoint() error {
	if l.SyncedOffset() <= l.RecoveryPoint() {
		return nil
	}
	return l.Flush(l.SyncedOffset())
}

// commits lets those that wait for an fsync share it: while one is under way everybody else waits for its end. Then who
// was covered goes on, and one of the others does the next, for all that has been appended meanwhile.
type commits struct {
	sync.Mutex
	// ended is closed at the end of the fsync under way; nil when there is none.
	ended chan struct{}
}

// join makes the caller the one who has to fsync, and then to call leave; else it returns what to wait for.
func (c *commits) join() (ended chan struct{}) {
	c.Lock()
	defer c.Unlock()
	if c.ended == nil {
		c.ended = make(chan struct{})
		return nil
	}
	return c.ended
}

func (c *commits) leave() {
	c.Lock()
	defer c.Unlock()
	close(c.ended)
	c.ended = nil
}

// commit returns when the records below upTo are on disk.
func (l *Log) commit(upTo record.Offset) error {
	for upTo > l.SyncedOffset() {
		if ended := l.commits.join(); ended != nil {
			<-ended
			continue
		}
		defer l.commits.leave()
		return l.commitNext(upTo)
	}
	return nil
}

// commitNext fsyncs the log up to its present end, and all else that belongs to a recovery point when it is time.
func (l *Log) commitNext(upTo record.Offset) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if upTo <= l.SyncedOffset() {
		return nil // by a flush for another reason
	}
	if err := l.unusable(); err != nil {
		return err
	}
	s, end := l.active(), l.end.Load()
	if !l.mayStayUnindexed(s, end) {
		return l.flushHeld(upTo, true)
	}
	if err := s.SyncLog(); err != nil {
		return l.failUnlessShort("fsync", err)
	}
	l.synced.Store(int64(end.offset))
	l.lastFlushMs.Store(l.nowMs())
	return nil
}

// mayStayUnindexed reports whether nothing but the bytes of the active segment is needed to find the records below end
// after a crash: the recovery point lies in it, so that its name and all older segments are durable, and not far below.
func (l *Log) mayStayUnindexed(s *segment.Segment, end *mark) bool {
	if end.base != s.Base() || l.RecoveryPoint() <= s.Base() || l.indexed.base != end.base {
		return false
	}
	behind := end.position - l.indexed.position
	return behind >= 0 && behind < maxUnindexed
}
