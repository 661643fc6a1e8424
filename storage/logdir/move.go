package logdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// moveChunk is how many bytes a move copies at a time, at most a segment.
const moveChunk = 1 << 20

// move is the copying of a log into another directory (KIP-113): a -future log is filled there, beside producers and
// consumers, and takes the place of the old one when it has everything.
type move struct {
	tp       record.TopicPartition
	from, to *entry
	cancel   context.CancelFunc
}

// FutureLog is the unfinished copy of a log.
type FutureLog struct {
	Log *storage.Log
	// Lag is how many offsets it is behind.
	Lag int64
}

// Move has the log of a partition copied into the directory at path, and replaces it with the copy when that has
// everything; Options.OnMoved hears of it. It returns when the copying has begun, at once if the log lies there. A move
// to another directory that was under way is given up. ErrNoSuchDirectory, ErrNotFound when there is no such log,
// ErrOffline when either directory has failed.
func (m *Manager) Move(tp record.TopicPartition, path string) error {
	m.changes.Lock()
	defer m.changes.Unlock()
	if m.closed {
		return ErrClosed
	}
	target := m.dirAt(path)
	if target == nil {
		return fmt.Errorf("%w: %s", ErrNoSuchDirectory, path)
	}
	m.mu.RLock()
	e, mv := m.logs[tp], m.moves[tp]
	m.mu.RUnlock()
	if e == nil {
		return fmt.Errorf("%w: %v", ErrNotFound, tp)
	}
	for _, d := range []*dir{target, e.dir} {
		if err := d.err(); err != nil {
			return fmt.Errorf("%w: directory %s: %w", ErrOffline, d.path, err)
		}
	}
	if mv != nil && mv.to.dir == target {
		return nil
	}
	if err := m.endMove(tp); err != nil {
		return err
	}
	if e.dir == target {
		return nil
	}
	to, err := m.createFuture(target, e.log)
	if err != nil {
		return err
	}
	m.startMove(e, to)
	return nil
}

// dirAt returns the directory with that absolute path, nil if there is none.
func (m *Manager) dirAt(path string) *dir {
	for _, d := range m.dirs {
		if abs, err := filepath.Abs(d.path); err == nil && !d.metadataOnly && filepath.IsAbs(path) && abs == filepath.Clean(path) {
			return d
		}
	}
	return nil
}

// createFuture makes the empty log that a copy of l is to become.
func (m *Manager) createFuture(d *dir, l *storage.Log) (*entry, error) {
	if err := m.forget(d, l.TopicPartition()); err != nil {
		return nil, err
	}
	unique, err := record.NewUUID(m.o.Rand)
	if err != nil {
		return nil, err
	}
	path := d.file(FormatName(l.TopicPartition(), Future, unique))
	if len(filepath.Base(path)) > maxName {
		return nil, fmt.Errorf("%w: %s", ErrNameTooLong, filepath.Base(path))
	}
	e := &entry{dir: d}
	e.log, err = storage.Open(m.logOptions(e, l.TopicPartition(), l.TopicID(), l.Config(), path, false))
	if isShortage(err) {
		return nil, errors.Join(err, m.o.FS.RemoveAll(path))
	}
	if err != nil && isIO(err) {
		m.failDir(d, err)
	}
	return e, err
}

// startMove begins to fill a future log in the background.
func (m *Manager) startMove(from, to *entry) {
	ctx, cancel := context.WithCancel(m.ctx)
	mv := &move{tp: from.log.TopicPartition(), from: from, to: to, cancel: cancel}
	m.mu.Lock()
	to.dir.futures[mv.tp] = to
	m.moves[mv.tp] = mv
	m.mu.Unlock()
	m.spawn(func() {
		defer cancel()
		err := protect(func() error { return m.runMove(ctx, mv) })
		switch {
		case err == nil:
			m.o.OnMoved(mv.tp)
		case ctx.Err() == nil:
			m.abandonMove(mv)
			m.report(Event{Kind: TaskFailed, Task: "move to " + to.dir.path, Dir: to.dir.path, Path: to.log.Dir(), TopicPartition: mv.tp, Err: err})
		}
	})
}

// runMove copies until little is left, then the rest while the log takes no appends, and replaces it.
func (m *Manager) runMove(ctx context.Context, mv *move) error {
	select {
	case m.moving <- struct{}{}:
		defer func() { <-m.moving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c := m.compaction(); c != nil { // what is copied must not be taken away meanwhile
		defer c.Hold(mv.from.log)()
	}
	if err := m.copyLog(ctx, mv); err != nil {
		return err
	}
	if err := mv.to.log.Flush(mv.to.log.LogEndOffset()); err != nil { // most of it before appends have to wait
		return err
	}
	m.changes.Lock()
	defer m.changes.Unlock()
	if m.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil { // given up
		return err
	}
	err := mv.from.log.Handover(func(record.Offset) error {
		if err := m.copyLog(ctx, mv); err != nil {
			return err
		}
		return m.completeCopy(mv)
	})
	if err != nil {
		return err
	}
	return m.replace(mv)
}

// copyLog copies what the old log has and the future one lacks.
func (m *Manager) copyLog(ctx context.Context, mv *move) error {
	var buf []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := mv.copyChunk(&buf)
		if errors.Is(err, storage.ErrOffsetOutOfRange) { // it begins later than the copy does
			n, err = 0, mv.restart()
		} else if n == 0 && err == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.moveThrottle.Wait(ctx, n); err != nil {
			return err
		}
	}
}

// copyChunk copies the batches at the end of the future log and returns their size, 0 when there are none.
func (mv *move) copyChunk(buf *[]byte) (int, error) {
	limit := min(moveChunk, mv.to.log.Config().SegmentBytes)
	info, err := mv.from.log.Read(mv.to.log.LogEndOffset(), storage.LogEnd, int(limit), true)
	if err != nil {
		return 0, err
	}
	defer info.Region.Release()
	n := info.Region.Length
	if n == 0 {
		return 0, nil
	}
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	b := (*buf)[:n]
	if _, err := info.Region.File.ReadAt(b, info.Region.Offset); err != nil {
		return 0, err
	}
	_, err = mv.to.log.Append(b, storage.AppendOptions{Origin: storage.Replication})
	return n, err
}

// restart begins the copy at the batch that holds the log start.
func (mv *move) restart() error {
	info, err := mv.from.log.Read(mv.from.log.LogStartOffset(), storage.LogEnd, 1, true)
	if err != nil {
		return err
	}
	defer info.Region.Release()
	return mv.to.log.TruncateFullyAndStartAt(info.FirstOffset)
}

// completeCopy gives the future log what is not in the batches, and makes all of it durable.
func (m *Manager) completeCopy(mv *move) error {
	from, to := mv.from.log, mv.to.log
	if have, want := to.LogEndOffset(), from.LogEndOffset(); have != want {
		return fmt.Errorf("the copy ends at %d, the log at %d", have, want)
	}
	to.SetConfig(from.Config())
	to.SetHighWatermark(from.HighWatermark())
	if start := from.LogStartOffset(); start > to.LogStartOffset() {
		if err := to.DeleteRecords(start); err != nil {
			return err
		}
	}
	return to.Flush(to.LogEndOffset())
}

// replace gives the future log the place of the old one, which takes no appends any more. The old one goes first: what a
// crash in between leaves, a future log without a current one, the next start completes.
func (m *Manager) replace(mv *move) error {
	from, to := mv.from, mv.to
	unique, err := record.NewUUID(m.o.Rand)
	if err != nil {
		return err
	}
	from.leaving.Store(true)
	gone := from.dir.file(FormatName(mv.tp, Deleted, unique))
	if err := from.log.Rename(gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.failDir(from.dir, err)
		return err
	}
	clean, known := m.cleanedTo(from.dir, mv.tp)
	m.mu.Lock()
	delete(from.dir.logs, mv.tp)
	delete(to.dir.futures, mv.tp)
	delete(m.moves, mv.tp)
	m.logs[mv.tp], to.dir.logs[mv.tp] = to, to
	m.leaving[from] = true
	m.mu.Unlock()
	delay := time.Duration(from.log.Config().FileDeleteDelayMs) * time.Millisecond
	m.after(from.dir)(delay, func() { m.unlink(from, gone) })
	if err := to.log.Rename(to.dir.file(mv.tp.String())); err != nil { // the partition is offline with its directory
		m.failDir(to.dir, err)
		return nil
	}
	if known {
		if err := m.saveFirstDirty(to.log, clean); err != nil { // it would only be compacted once more
			m.report(Event{Kind: TaskFailed, Task: "cleaner checkpoint", Dir: to.dir.path, TopicPartition: mv.tp, Err: err})
		}
	}
	m.report(Event{Kind: Moved, Dir: to.dir.path, Path: to.log.Dir(), TopicPartition: mv.tp})
	return nil
}

// abandonMove gives up a move that has failed, unless everything is being closed: then the next start goes on with it.
func (m *Manager) abandonMove(mv *move) {
	m.changes.Lock()
	defer m.changes.Unlock()
	if m.closed || mv.to.dir.err() != nil {
		return
	}
	m.mu.RLock()
	mine := m.moves[mv.tp] == mv
	m.mu.RUnlock()
	if mine {
		_ = m.giveUpMove(mv) // what keeps the copy from being removed has taken the directory offline
	}
}

// endMove gives up the move of a partition, if there is one; changes is held.
func (m *Manager) endMove(tp record.TopicPartition) error {
	m.mu.RLock()
	mv := m.moves[tp]
	m.mu.RUnlock()
	if mv == nil {
		return nil
	}
	return m.giveUpMove(mv)
}

// giveUpMove ends a move and removes what it has copied; changes is held.
func (m *Manager) giveUpMove(mv *move) error {
	mv.cancel()
	m.mu.Lock()
	delete(m.moves, mv.tp)
	delete(mv.to.dir.futures, mv.tp)
	m.leaving[mv.to] = true
	m.mu.Unlock()
	mv.to.leaving.Store(true)
	unique, err := record.NewUUID(m.o.Rand)
	if err != nil {
		return err
	}
	path := mv.to.dir.file(FormatName(mv.tp, Deleted, unique))
	if err := mv.to.log.Rename(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.failDir(mv.to.dir, err)
		return err
	}
	delay := time.Duration(mv.to.log.Config().FileDeleteDelayMs) * time.Millisecond
	m.after(mv.to.dir)(delay, func() { m.unlink(mv.to, path) })
	return nil
}
