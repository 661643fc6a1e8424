package logdir

import (
	"errors"
	"io/fs"
	"maps"
	"os"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
)

// The checkpoints that this package writes.
const (
	recoveryPoints = iota
	logStarts
	highWatermarks
	checkpointKinds
)

var checkpointFiles = [checkpointKinds]string{
	recoveryPoints: checkpoint.RecoveryPointFile,
	logStarts:      checkpoint.LogStartFile,
	highWatermarks: checkpoint.HighWatermarkFile,
}

// offsets is the content of one checkpoint.
type offsets map[record.TopicPartition]record.Offset

// savedCheckpoint is what a checkpoint file holds as far as we know.
type savedCheckpoint struct {
	content offsets
	known   bool // the file holds exactly content
}

// readCheckpoints reads the checkpoints of a directory and creates those that are missing with 0 bytes. A malformed
// one counts as empty, which only makes recovery read more; Kafka takes the directory offline as well.
func (m *Manager) readCheckpoints(d *dir) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	for kind, name := range checkpointFiles {
		if err := m.readCheckpoint(d, name, &d.files[kind]); err != nil {
			return err
		}
	}
	return m.readCheckpoint(d, checkpoint.CleanerOffsetsFile, &d.cleaned)
}

func (m *Manager) readCheckpoint(d *dir, name string, into *savedCheckpoint) error {
	path := d.file(name)
	content, err := checkpoint.ReadOffsets(m.o.FS, path)
	switch {
	case err == nil:
		*into = savedCheckpoint{content: content, known: true}
	case errors.Is(err, fs.ErrNotExist):
		err := m.createEmpty(path)
		if err != nil && !isShortage(err) {
			return err
		}
		into.known = err == nil
	case errors.Is(err, checkpoint.ErrFormat):
		m.report(Event{Kind: CheckpointUnreadable, Dir: d.path, Path: path, Err: err})
	default:
		return err
	}
	return nil
}

func (m *Manager) createEmpty(path string) error {
	f, err := m.o.FS.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// saved returns what the file of a directory said about a partition when it was last read or written.
func (d *dir) saved(kind int, tp record.TopicPartition) record.Offset {
	d.saving.Lock()
	defer d.saving.Unlock()
	return d.files[kind].content[tp]
}

// save writes one checkpoint of a directory if it would change. Partitions that stand in the directory without being
// open keep their entries.
func (m *Manager) save(d *dir, kind int) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	if d.err() != nil || !d.listed.Load() {
		return nil
	}
	file := &d.files[kind]
	content := offsets{}
	m.mu.RLock()
	for tp := range d.unloaded {
		if o, ok := file.content[tp]; ok {
			content[tp] = o
		}
	}
	logs := maps.Clone(d.logs)
	m.mu.RUnlock()
	for tp, e := range logs {
		if o, ok := checkpointValue(kind, e.log); ok {
			content[tp] = o
		}
	}
	if file.known && maps.Equal(file.content, content) {
		return nil
	}
	file.known = false
	if err := checkpoint.WriteOffsets(m.o.FS, d.file(checkpointFiles[kind]), content); err != nil {
		return err
	}
	*file = savedCheckpoint{content: content, known: true}
	return nil
}

// checkpointValue returns what a checkpoint says of a log, if anything: the log start is listed only where the name
// of the first segment does not tell it already.
func checkpointValue(kind int, l *storage.Log) (record.Offset, bool) {
	switch kind {
	case recoveryPoints:
		return l.RecoveryPoint(), true
	case highWatermarks:
		return l.HighWatermark(), true
	}
	start := l.LogStartOffset()
	if start == 0 {
		return 0, false
	}
	segments := l.Segments()
	return start, len(segments) == 0 || start > segments[0].BaseOffset
}

// saveAll writes all checkpoints of a directory.
func (m *Manager) saveAll(d *dir) error {
	for kind := range checkpointKinds {
		if err := m.save(d, kind); err != nil {
			return err
		}
	}
	return nil
}

// forget makes sure that no checkpoint on disk speaks of tp before a new log of that name is created in d (DIR-3): with
// the recovery point of an earlier log, recovery would skip bytes that were never synced, and with its log start drop
// the whole new log.
func (m *Manager) forget(d *dir, tp record.TopicPartition) error {
	d.saving.Lock()
	stale := false
	for _, f := range d.files {
		_, has := f.content[tp]
		stale = stale || has || !f.known
	}
	d.saving.Unlock()
	if stale {
		if err := m.saveAll(d); err != nil {
			return err
		}
	}
	return m.forgetCleaned(d, tp)
}
