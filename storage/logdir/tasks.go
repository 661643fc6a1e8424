package logdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/samsalog/samsa/storage"
)

// TaskStatus is what a background task did lately.
type TaskStatus struct {
	Name string
	// Runs counts the runs; LastRun is when the last one began, zero before the first; Took is how long it took.
	Runs    int64
	LastRun time.Time
	Took    time.Duration
	// Failures counts partitions and files the last run had errors with. LastError is the latest error of any run and
	// says of which, LastErrorAt when it was.
	Failures    int
	LastError   error
	LastErrorAt time.Time
}

// task is a function that runs periodically.
type task struct {
	name   string
	period time.Duration
	delay  time.Duration
	run    func() []error

	mu     sync.Mutex
	status TaskStatus
}

// Start runs the background tasks until Close.
func (m *Manager) Start() {
	m.changes.Lock()
	defer m.changes.Unlock()
	if m.closed || m.tasks != nil {
		return
	}
	m.mu.Lock()
	m.tasks = m.newTasks()
	m.mu.Unlock()
	m.startCleaner()
	m.resumeMoves()
	for _, t := range m.tasks {
		if t.period > 0 {
			m.background.Go(func() { m.loop(m.ctx, t) })
		}
	}
}

func (m *Manager) newTasks() []*task {
	save := func(kind int) func() []error {
		return func() []error { return m.saveEverywhere(kind) }
	}
	o := &m.o
	return []*task{
		{name: "retention", period: o.RetentionCheckInterval, delay: o.InitialDelay, run: m.retain},
		{name: "flush", period: o.FlushCheckInterval, delay: o.InitialDelay, run: m.flush},
		{name: "recovery point checkpoint", period: o.RecoveryPointInterval, delay: o.InitialDelay, run: m.saveRecoveryPoints},
		{name: "log start checkpoint", period: o.LogStartInterval, delay: o.InitialDelay, run: save(logStarts)},
		{name: "space check", period: o.SpaceCheckInterval, run: m.checkSpace},
		{name: "high watermark checkpoint", period: o.HighWatermarkInterval, delay: o.HighWatermarkInterval, run: save(highWatermarks)},
	}
}

// Tasks tells how the background tasks are doing.
func (m *Manager) Tasks() []TaskStatus {
	m.mu.RLock()
	tasks := m.tasks
	m.mu.RUnlock()
	var list []TaskStatus
	for _, t := range tasks {
		t.mu.Lock()
		s := t.status
		t.mu.Unlock()
		s.Name = t.name
		list = append(list, s)
	}
	return list
}

// loop runs t after its delay and then once in each period, until ctx ends.
func (m *Manager) loop(ctx context.Context, t *task) {
	timer := time.NewTimer(t.delay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		m.runTask(t)
		timer.Reset(t.period)
	}
}

// runTask runs t once and keeps how it went.
func (m *Manager) runTask(t *task) {
	began := m.o.Now()
	t.mu.Lock()
	t.status.LastRun = began
	t.mu.Unlock()
	var errs []error
	if err := protect(func() error { errs = t.run(); return nil }); err != nil {
		errs = append(errs, err)
	}
	ended := m.o.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.Runs++
	t.status.Took = ended.Sub(began)
	t.status.Failures = len(errs)
	if len(errs) > 0 {
		t.status.LastError, t.status.LastErrorAt = errs[len(errs)-1], ended
	}
}

// each calls f for every log that is online, whatever it did to the others, and returns the errors.
func (m *Manager) each(name string, f func(e *entry) error) []error {
	var errs []error
	for _, e := range m.entries(nil) {
		if m.ctx.Err() != nil {
			break
		}
		err := protect(func() error { return f(e) })
		if err == nil || e.leaving.Load() || errors.Is(err, storage.ErrClosed) {
			continue
		}
		tp := e.log.TopicPartition()
		errs = append(errs, fmt.Errorf("%v: %w", tp, err))
		m.report(Event{Kind: TaskFailed, Task: name, Dir: e.dir.path, TopicPartition: tp, Err: err})
	}
	return errs
}

// retain removes old segments. Those of compacted logs are left to the cleaner, which does it between its runs; without
// one, the log's own rules are enough.
func (m *Manager) retain() []error {
	c := m.compaction()
	return m.each("retention", func(e *entry) error {
		if c != nil {
			if e.log.Config().CleanupCompact {
				return nil
			}
			defer c.Hold(e.log)() // the topic may have been compacted a moment ago (KAFKA-7322)
		}
		_, err := e.log.DeleteOldSegments()
		return err
	})
}

// flush syncs the logs whose flush.ms has passed.
func (m *Manager) flush() []error {
	return m.each("flush", func(e *entry) error {
		if m.o.Now().Sub(e.log.LastFlush()).Milliseconds() < e.log.Config().FlushMs {
			return nil
		}
		return e.log.Flush(e.log.LogEndOffset())
	})
}

// saveRecoveryPoints raises the recovery points to what producers have waited for, and writes them down.
func (m *Manager) saveRecoveryPoints() []error {
	errs := m.each("flush", func(e *entry) error { return e.log.RaiseRecoveryPoint() })
	return append(errs, m.saveEverywhere(recoveryPoints)...)
}

// saveEverywhere writes one checkpoint of each directory. A directory where that fails goes offline.
func (m *Manager) saveEverywhere(kind int) []error {
	var errs []error
	for _, d := range m.dirs {
		if d.metadataOnly {
			continue
		}
		if err := m.save(d, kind); err != nil && !errors.Is(err, fs.ErrClosed) {
			errs = append(errs, fmt.Errorf("%s: %w", d.file(checkpointFiles[kind]), err))
			m.failDir(d, err)
		}
	}
	return errs
}
