package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
)

// loadFutures looks after what moves between directories have left, once all other logs are loaded: a copy whose log
// is there goes on, one whose log is gone is whole and takes its place, one that nobody wants is set aside.
func (m *Manager) loadFutures(d *dir, want Want) {
	if len(d.found) == 0 {
		return
	}
	for _, j := range d.found {
		if d.err() != nil {
			return
		}
		err := protect(func() error { return m.loadFuture(d, j, want) })
		switch {
		case err == nil || d.err() != nil:
		case isIO(err):
			m.failDir(d, fmt.Errorf("loading %s: %w", j.name, err))
		default: // the log itself is not concerned
			m.report(Event{Kind: FutureFound, Dir: d.path, Path: d.file(j.name), TopicPartition: j.tp, Err: err})
		}
	}
	if err := m.o.FS.SyncDir(d.path); err != nil { // names were changed
		m.failDir(d, err)
	}
}

// Why a copy is left alone.
var (
	errMoveUndecided = errors.New("its partition is not loaded")
	errNoTopicID     = errors.New("it does not tell its topic's id")
)

func (m *Manager) loadFuture(d *dir, j job, want Want) error {
	path := d.file(j.name)
	id, err := checkpoint.ReadPartitionMetadata(m.o.FS, filepath.Join(path, checkpoint.PartitionMetadataFile))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoTopicID
	}
	if err != nil {
		return err
	}
	config, ok := want(j.tp, id)
	m.mu.RLock()
	current := m.logs[j.tp]
	twin := slices.ContainsFunc(m.resumed, func(e *entry) bool { return e.log.TopicPartition() == j.tp })
	m.mu.RUnlock()
	switch {
	case !ok:
		return m.setAside(d, j)
	case twin, current != nil && current.dir == d:
		return m.dropFuture(d, j)
	case current == nil && !m.surelyNowhere(j.tp):
		return errMoveUndecided
	}
	e := &entry{dir: d}
	o := m.logOptions(e, j.tp, id, config, path, true)
	// Checkpoints do not speak of it, so nothing in it is taken for checked.
	o.TopicIDStored, o.Clean, o.RecoveryPoint, o.LogStartOffset = true, false, 0, 0
	if e.log, err = storage.Open(o); err != nil {
		return err
	}
	if current != nil {
		m.report(Event{Kind: MoveResumed, Dir: d.path, Path: path, TopicPartition: j.tp})
		m.mu.Lock()
		defer m.mu.Unlock()
		d.futures[j.tp] = e
		m.resumed = append(m.resumed, e)
		return nil
	}
	e.log.SetHighWatermark(e.log.LogEndOffset())
	if err := e.log.Rename(d.file(j.tp.String())); err != nil {
		return err
	}
	m.add(j.tp, e)
	m.report(Event{Kind: Moved, Dir: d.path, Path: e.log.Dir(), TopicPartition: j.tp})
	return nil
}

// resumeMoves goes on with the copies that Load found; changes is held.
func (m *Manager) resumeMoves() {
	for _, e := range m.resumed {
		m.mu.RLock()
		from := m.logs[e.log.TopicPartition()]
		m.mu.RUnlock()
		if from != nil && from.dir.err() == nil && e.dir.err() == nil {
			m.startMove(from, e)
		}
	}
	m.resumed = nil
}

// surelyNowhere reports whether a partition stands in no directory: none is offline, and none holds it unloaded.
func (m *Manager) surelyNowhere(tp record.TopicPartition) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, d := range m.dirs {
		if _, there := d.unloaded[tp]; there || !d.metadataOnly && (d.err() != nil || !d.listed.Load()) {
			return false
		}
	}
	return true
}

// dropFuture removes a copy that has no use.
func (m *Manager) dropFuture(d *dir, j job) error {
	unique, err := record.NewUUID(m.o.Rand)
	if err != nil {
		return err
	}
	path := d.file(FormatName(j.tp, Deleted, unique))
	if err := m.o.FS.Rename(d.file(j.name), path); err != nil {
		return err
	}
	m.report(Event{Kind: RemovalResumed, Dir: d.path, Path: path})
	m.delays.after(m.o.DeleteDelay, func() { m.removeTree(d, path) })
	return nil
}

// futures returns the unfinished copies in a directory.
func (m *Manager) futures(d *dir) []FutureLog {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []FutureLog
	for tp, e := range d.futures {
		f := FutureLog{Log: e.log}
		if current := m.logs[tp]; current != nil {
			f.Lag = max(int64(current.log.LogEndOffset()-e.log.LogEndOffset()), 0)
		}
		list = append(list, f)
	}
	return list
}

// everything returns the logs of a directory and the copies in it.
func (m *Manager) everything(d *dir) []*entry {
	list := m.entries(d)
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, e := range d.futures {
		list = append(list, e)
	}
	return list
}
