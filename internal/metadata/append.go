package metadata

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// write decides, checks, and hands one batch to the log. It returns the offset that must be on disk before the
// caller may go on.
func (s *Store) write(decide func(*Image, record.Offset) ([]stored.Message, error)) (record.Offset, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	w := &s.writing
	if w.failed != nil {
		return record.NoOffset, w.failed
	}
	base := w.latest.Offset + 1
	records, err := decide(w.latest, base)
	if err != nil || len(records) == 0 {
		return w.latest.Offset, err
	}
	return s.writeLocked(base, records)
}

// writeLocked applies the records to the state, then writes them; if they do not fit the state they are refused
// before anything is written (META-1).
func (s *Store) writeLocked(base record.Offset, records []stored.Message) (record.Offset, error) {
	w := &s.writing
	nowMs := s.o.Now().UnixMilli()
	batch, seen, err := dataBatch(base, s.epoch, nowMs, w.latest.MetadataVersion(), records)
	if err != nil {
		return record.NoOffset, err
	}
	changes := &touched{}
	w.replay.fold.touched = changes
	next, err := w.replay.apply(base, s.epoch, seen)
	if err != nil {
		w.replay.fold.reset(w.latest)
		w.replay.before = nil
		return record.NoOffset, err
	}
	if err := s.appendLocked(batch); err != nil {
		w.replay.fold.reset(w.latest)
		w.replay.before = nil
		return record.NoOffset, err
	}
	s.queueLocked(publication{image: next, touched: changes, appendedMs: nowMs}, len(batch))
	return next.Offset, nil
}

// queueLocked makes what was just written the state that the next decision sees, and has it published once it is synced.
func (s *Store) queueLocked(p publication, batchBytes int) {
	w := &s.writing
	w.latest = p.image
	w.written += int64(batchBytes)
	p.quorum = s.voters.Load()
	if p.snapshot = s.snapshots.due(w.written, s.o.Now()); p.snapshot {
		w.written = 0
	}
	w.queue = append(w.queue, p)
}

// apply is batch for records that leave no transaction open.
func (r *replay) apply(base record.Offset, epoch record.LeaderEpoch, records []stored.Message) (*Image, error) {
	if err := r.batch(base, epoch, records); err != nil {
		return nil, err
	}
	if r.before != nil {
		return nil, fmt.Errorf("%w: the records begin a transaction and do not end it", ErrInvalidRecord)
	}
	return r.fold.seal()
}

// appendLocked writes a batch without waiting for the disk. A failure is final, for what is on disk is not known, unless
// there was only nothing to write with.
func (s *Store) appendLocked(batch record.Batch) error {
	_, err := s.log.Append(batch, storage.AppendOptions{Origin: storage.RaftLeader, LeaderEpoch: s.epoch})
	if err != nil {
		err = fmt.Errorf("metadata log: %w", err)
		if !errors.Is(err, storage.ErrShortage) {
			s.writing.failed = err
		}
	}
	return err
}

// sync returns when everything up to and with offset last is on disk. Whoever comes while another goroutine
// syncs waits and mostly finds the work done (META-4).
func (s *Store) sync(last record.Offset) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if s.synced.Load() >= int64(last) {
		return nil
	}
	end := s.log.LogEndOffset()
	if err := s.log.Flush(end); err != nil {
		err = fmt.Errorf("metadata log: %w", err)
		if errors.Is(err, storage.ErrShortage) { // the next sync covers these records too
			return err
		}
		s.writing.Lock()
		if s.writing.failed == nil {
			s.writing.failed = err
		}
		s.writing.Unlock()
		return err
	}
	s.log.SetHighWatermark(end)
	s.synced.Store(int64(end) - 1)
	return nil
}

// publish makes synced images visible, oldest first. When it returns, those of the caller are.
func (s *Store) publish() {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	for {
		p, ok := s.nextPublication()
		if !ok {
			return
		}
		before := s.image.Load()
		s.image.Store(p.image)
		if list := s.publishers.Load(); list != nil {
			d := p.touched.between(before, p.image)
			for _, publisher := range *list {
				publisher.Publish(d, p.image)
			}
		}
		if p.snapshot {
			s.snapshots.ask(p)
		}
	}
}

// nextPublication takes the oldest publication whose records are synced.
func (s *Store) nextPublication() (p publication, ok bool) {
	synced := s.synced.Load()
	s.writing.Lock()
	defer s.writing.Unlock()
	if len(s.writing.queue) == 0 || int64(s.writing.queue[0].image.Offset) > synced {
		return p, false
	}
	p = s.writing.queue[0]
	s.writing.queue = s.writing.queue[1:]
	return p, true
}
