package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/cleaner"
)

// startCleaner starts compaction, if it is wanted.
func (m *Manager) startCleaner() {
	if m.o.Cleaner == nil {
		return
	}
	c := cleaner.New(cleaner.Options{
		Settings: m.o.Cleaner, Logs: m.Logs, Now: m.o.Now, Observe: m.compactionEvent,
		Alive: func(l *storage.Log) bool { return m.entryOf(l) != nil },
		FirstDirty: func(l *storage.Log) (record.Offset, bool) {
			e := m.entryOf(l)
			if e == nil {
				return 0, false
			}
			e.dir.saving.Lock()
			defer e.dir.saving.Unlock()
			o, ok := e.dir.cleaned.content[l.TopicPartition()]
			return o, ok
		},
		SaveFirstDirty: m.saveFirstDirty,
	})
	m.mu.Lock()
	m.cleaner = c
	m.mu.Unlock()
	c.Start()
}

// compaction returns the cleaner, nil when there is none.
func (m *Manager) compaction() *cleaner.Cleaner {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.cleaner
}

// Compaction tells how compaction of each compacted log stands, by topic and partition; none without a cleaner.
func (m *Manager) Compaction() []cleaner.Status {
	if c := m.compaction(); c != nil {
		return c.Status()
	}
	return nil
}

// entryOf returns the entry of a log that is open; nil for one that was deleted.
func (m *Manager) entryOf(l *storage.Log) *entry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.logs[l.TopicPartition()]; e != nil && e.log == l {
		return e
	}
	return nil
}

// saveFirstDirty writes the cleaner checkpoint of a log. A directory where that fails goes offline.
func (m *Manager) saveFirstDirty(l *storage.Log, o record.Offset) error {
	e := m.entryOf(l)
	if e == nil {
		return fmt.Errorf("%w: %v", ErrNotFound, l.TopicPartition())
	}
	err := m.changeCleaned(e.dir, func(content offsets) { content[l.TopicPartition()] = o })
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		m.failDir(e.dir, err)
	}
	return err
}

// cleanedTo is what the cleaner checkpoint of a directory says of a log.
func (m *Manager) cleanedTo(d *dir, tp record.TopicPartition) (record.Offset, bool) {
	d.saving.Lock()
	defer d.saving.Unlock()
	o, ok := d.cleaned.content[tp]
	return o, ok
}

// forgetCleaned makes sure that the cleaner checkpoint does not speak of tp (DIR-3).
func (m *Manager) forgetCleaned(d *dir, tp record.TopicPartition) error {
	return m.changeCleaned(d, func(content offsets) { delete(content, tp) })
}

// changeCleaned changes the cleaner checkpoint of a directory and writes it if that made a difference. Partitions that
// are neither open nor waiting in the directory lose their entries.
func (m *Manager) changeCleaned(d *dir, change func(offsets)) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	if err := d.err(); err != nil {
		return fmt.Errorf("%w: directory %s: %w", ErrOffline, d.path, err)
	}
	content := maps.Clone(d.cleaned.content)
	if content == nil {
		content = offsets{}
	}
	change(content)
	if d.cleaned.known && maps.Equal(content, d.cleaned.content) {
		return nil
	}
	m.mu.RLock()
	maps.DeleteFunc(content, func(tp record.TopicPartition, _ record.Offset) bool {
		_, unloaded := d.unloaded[tp]
		return d.logs[tp] == nil && !unloaded
	})
	m.mu.RUnlock()
	d.cleaned.known = false
	if err := checkpoint.WriteOffsets(m.o.FS, d.file(checkpoint.CleanerOffsetsFile), content); err != nil {
		return err
	}
	d.cleaned = savedCheckpoint{content: content, known: true}
	return nil
}

// compactionEvent passes on what the cleaner has to say.
func (m *Manager) compactionEvent(e cleaner.Event) {
	out := Event{TopicPartition: e.TopicPartition, Err: e.Err}
	switch e.Kind {
	case cleaner.Cleaned:
		out.Kind, out.Compaction = Compacted, &e.Stats
	case cleaner.Failed:
		out.Kind = CompactionFailed
	case cleaner.Postponed:
		out.Kind = CompactionPostponed
	default:
		out.Kind, out.Task = TaskFailed, "retention"
	}
	m.report(out)
}
