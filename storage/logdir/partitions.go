package logdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// Create makes an empty log and returns it with the id of its directory. dirID names the directory; zero or a reserved
// id: the one that is online and has the fewest logs, and the next one if that fails. A log that exists with the same
// topic id is returned as it is. ErrOffline when the partition stands, or may stand, in a directory that is offline
// (DIR-4): for a partition that is not new the caller names its directory.
func (m *Manager) Create(tp record.TopicPartition, topicID record.UUID, c storage.Config, dirID record.UUID) (*storage.Log, record.UUID, error) {
	m.changes.Lock()
	defer m.changes.Unlock()
	if m.closed {
		return nil, record.UUID{}, ErrClosed
	}
	l, id, err := m.existing(tp, topicID)
	if errors.Is(err, errTryAgain) {
		l, id, err = m.loadAgain(tp, topicID, c)
	}
	if l != nil || err != nil {
		return l, id, err
	}
	candidates, err := m.candidates(tp, dirID)
	if err != nil {
		return nil, record.UUID{}, err
	}
	var causes []error
	for _, d := range candidates {
		l, err = m.createIn(d, tp, topicID, c)
		if err == nil {
			return l, d.meta.DirectoryID, nil
		}
		causes = append(causes, fmt.Errorf("%s: %w", d.path, err))
		if !isIO(err) && !isShortage(err) { // it would be the same elsewhere, or there is something in the way that must not be doubled
			break
		}
		m.failDir(d, err)
	}
	return nil, record.UUID{}, errors.Join(causes...)
}

// existing answers Create from what is there.
func (m *Manager) existing(tp record.TopicPartition, topicID record.UUID) (*storage.Log, record.UUID, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.logs[tp]; e != nil {
		if err := e.dir.err(); err != nil {
			return nil, record.UUID{}, fmt.Errorf("%w: directory %s: %w", ErrOffline, e.dir.path, err)
		}
		if id := e.log.TopicID(); id != topicID {
			return nil, record.UUID{}, fmt.Errorf("%w: %v has %s, not %s", ErrExists, tp, id, topicID)
		}
		return e.log, e.dir.meta.DirectoryID, nil
	}
	for _, d := range m.dirs {
		if err := d.unloaded[tp]; isShortage(err) {
			return nil, record.UUID{}, errTryAgain
		} else if err != nil {
			return nil, record.UUID{}, fmt.Errorf("%w: %s: %w", ErrOffline, d.file(tp.String()), err)
		}
	}
	return nil, record.UUID{}, nil
}

// errTryAgain: the partition stands in a directory and was left out for want of room.
var errTryAgain = errors.New("left out for want of room")

// loadAgain opens a partition that was left out for want of room. Nothing is returned if it was another topic's.
func (m *Manager) loadAgain(tp record.TopicPartition, topicID record.UUID, c storage.Config) (*storage.Log, record.UUID, error) {
	d := m.leftOut(tp)
	if d == nil {
		return nil, record.UUID{}, nil
	}
	l, err := m.retryLoad(d, tp, topicID, c)
	if l == nil || err != nil {
		return nil, record.UUID{}, err
	}
	return l, d.meta.DirectoryID, nil
}

// leftOut returns the directory in which a partition stands that was left out for want of room.
func (m *Manager) leftOut(tp record.TopicPartition) *dir {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, d := range m.dirs {
		if d.err() == nil && isShortage(d.unloaded[tp]) {
			return d
		}
	}
	return nil
}

// candidates returns the directories in which a new log may be made, best first.
func (m *Manager) candidates(tp record.TopicPartition, dirID record.UUID) ([]*dir, error) {
	var online []*dir
	var down error
	for _, d := range m.dirs {
		switch err := d.err(); {
		case d.metadataOnly:
		case err != nil && d.meta.DirectoryID.IsZero():
			down = fmt.Errorf("%w: %v may be in directory %s: %w", ErrOffline, tp, d.path, err)
		case d.meta.DirectoryID == dirID && err != nil:
			return nil, fmt.Errorf("%w: %v is in directory %s: %w", ErrOffline, tp, d.path, err)
		case d.meta.DirectoryID == dirID && d.listed.Load():
			return []*dir{d}, nil
		case err == nil && d.listed.Load():
			online = append(online, d)
		}
	}
	if !dirID.IsReserved() && down != nil {
		return nil, down
	}
	if len(online) == 0 {
		if err := m.anyOnline(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOffline, err)
		}
		return nil, fmt.Errorf("%w: %w", ErrOffline, errNotLoaded)
	}
	return m.byLoad(online), nil
}

// byLoad orders directories by the number of their logs. Cordoned ones are left out, unless all are: then the first is
// taken, as Kafka does.
func (m *Manager) byLoad(online []*dir) []*dir {
	open := slices.DeleteFunc(slices.Clone(online), func(d *dir) bool { return m.o.Cordoned(d.path) })
	if len(open) == 0 {
		return online[:1]
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	slices.SortStableFunc(open, func(a, b *dir) int { return cmp.Compare(len(a.logs), len(b.logs)) })
	return open
}

func (m *Manager) createIn(d *dir, tp record.TopicPartition, topicID record.UUID, c storage.Config) (*storage.Log, error) {
	if err := m.forget(d, tp); err != nil {
		return nil, err
	}
	e := &entry{dir: d}
	var err error
	path := d.file(tp.String())
	if e.log, err = storage.Open(m.logOptions(e, tp, topicID, c, path, false)); isShortage(err) {
		return nil, errors.Join(err, m.o.FS.RemoveAll(path)) // a part of a new log would be in the way
	} else if err != nil {
		return nil, err
	}
	m.add(tp, e)
	if err := d.err(); err != nil { // it failed meanwhile, and whoever took it offline may not have seen this log
		e.log.Fail(err)
		return nil, fmt.Errorf("%w: directory %s: %w", ErrOffline, d.path, err)
	}
	return e.log, nil
}

// Delete gives up a partition's log: its directory is renamed to -delete now and removed after file.delete.delay.ms.
// Whoever reads from the log at this moment can go on until then. ErrNotFound when there is no such log, ErrOffline
// when its directory has failed.
func (m *Manager) Delete(tp record.TopicPartition) error {
	m.changes.Lock()
	defer m.changes.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.mu.Lock()
	e := m.logs[tp]
	m.mu.Unlock()
	if d := m.leftOut(tp); e == nil && d != nil {
		return m.deleteLeftOut(d, tp)
	}
	if e == nil {
		return fmt.Errorf("%w: %v", ErrNotFound, tp)
	}
	if err := e.dir.err(); err != nil {
		return fmt.Errorf("%w: directory %s: %w", ErrOffline, e.dir.path, err)
	}
	if err := m.endMove(tp); err != nil {
		return err
	}
	unique, err := record.NewUUID(m.o.Rand)
	if err != nil {
		return err
	}
	if c := m.compaction(); c != nil {
		defer c.Hold(e.log)()
	}
	e.leaving.Store(true)
	path := e.dir.file(FormatName(tp, Deleted, unique))
	if err := e.log.Rename(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody has removed it already
		m.failDir(e.dir, err)
		return err
	}
	m.mu.Lock()
	delete(m.logs, tp)
	delete(e.dir.logs, tp)
	m.leaving[e] = true
	m.mu.Unlock()
	delay := time.Duration(e.log.Config().FileDeleteDelayMs) * time.Millisecond
	m.after(e.dir)(delay, func() { m.unlink(e, path) })
	return nil
}

// deleteLeftOut gives up a partition that could not be opened for want of room; its removal makes some.
func (m *Manager) deleteLeftOut(d *dir, tp record.TopicPartition) error {
	unique, err := record.NewUUID(m.o.Rand)
	if err != nil {
		return err
	}
	path := d.file(FormatName(tp, Deleted, unique))
	if err := m.o.FS.Rename(d.file(tp.String()), path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.failDir(d, err)
		return err
	}
	m.handled(d, job{tp: tp})
	m.delays.after(0, func() { m.removeTree(d, path) })
	return nil
}

// unlink removes a log that was given up. Its errors concern nobody but a reader of events: the name is out of the way,
// and the next start tries again.
func (m *Manager) unlink(e *entry, path string) {
	m.mu.Lock()
	delete(m.leaving, e)
	m.mu.Unlock()
	err := e.log.Delete()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.report(Event{Kind: TaskFailed, Task: "removal", Dir: e.dir.path, Path: path, TopicPartition: e.log.TopicPartition(), Err: err})
	}
}

// removeTree removes a -delete directory that Load found.
func (m *Manager) removeTree(d *dir, path string) {
	if d.err() != nil {
		return
	}
	if err := m.o.FS.RemoveAll(path); err != nil {
		m.report(Event{Kind: TaskFailed, Task: "removal", Dir: d.path, Path: path, Err: err})
	}
}
