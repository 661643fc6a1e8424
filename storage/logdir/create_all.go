package logdir

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// New is a log that is to be created; the fields are the parameters of Manager.Create.
type New struct {
	TopicPartition record.TopicPartition
	TopicID        record.UUID
	Config         storage.Config
	DirID          record.UUID
}

// Created is what became of a New, as Manager.Create returns it.
type Created struct {
	Log   *storage.Log
	DirID record.UUID
	Err   error
}

// createWorkers is how many logs are created at the same time. They mostly wait for fsyncs, which file systems with a
// journal do together: above 16 it gets no faster.
const createWorkers = 16

// CreateAll does what Create does for each of list, many at the same time, and makes their names durable with one fsync
// of each log directory. The results are in the order of list.
func (m *Manager) CreateAll(list []New) []Created {
	out := make([]Created, len(list))
	if len(list) == 0 {
		return out
	}
	if len(list) > 1 {
		m.createTogether(list, out)
	}
	for i, n := range list {
		if out[i].Log == nil { // the common way did not lead there: another directory may do, or the error is told
			out[i].Log, out[i].DirID, out[i].Err = m.Create(n.TopicPartition, n.TopicID, n.Config, n.DirID)
		}
	}
	return out
}

// createTogether fills in the logs that could be created at the first attempt.
func (m *Manager) createTogether(list []New, out []Created) {
	m.changes.Lock()
	defer m.changes.Unlock()
	if m.closed {
		return
	}
	places := m.place(list)
	logs, errs := make([]*storage.Log, len(list)), make([]error, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(createWorkers, len(list)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = protect(func() (err error) { logs[i], err = m.createNew(places[i], list[i]); return err })
			}
		})
	}
	for i, d := range places {
		if d != nil {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	for i, err := range errs {
		if isIO(err) {
			m.failDir(places[i], err)
		}
	}
	for _, d := range m.syncPlaces(places) {
		for i, l := range logs {
			if places[i] == d && l != nil && d.err() == nil {
				out[i] = Created{Log: l, DirID: d.meta.DirectoryID}
			}
		}
	}
}

// place chooses the directory of each log: nil where that is not as simple as it mostly is. It spreads them evenly.
func (m *Manager) place(list []New) []*dir {
	places := make([]*dir, len(list))
	pending := map[*dir]int{}
	seen := map[record.TopicPartition]bool{}
	for i, n := range list {
		if l, _, err := m.existing(n.TopicPartition, n.TopicID); l != nil || err != nil || seen[n.TopicPartition] {
			continue
		}
		seen[n.TopicPartition] = true
		candidates, err := m.candidates(n.TopicPartition, n.DirID)
		if err != nil {
			continue
		}
		d := slices.MinFunc(candidates, func(a, b *dir) int {
			return cmp.Compare(m.count(a)+pending[a], m.count(b)+pending[b])
		})
		if m.forget(d, n.TopicPartition) != nil {
			continue
		}
		places[i] = d
		pending[d]++
	}
	return places
}

// count is how many logs a directory has.
func (m *Manager) count(d *dir) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(d.logs)
}

// createNew makes one log, whose name is not durable yet. A part of one that is left when it fails is taken over by the
// next attempt.
func (m *Manager) createNew(d *dir, n New) (*storage.Log, error) {
	e := &entry{dir: d}
	o := m.logOptions(e, n.TopicPartition, n.TopicID, n.Config, d.file(n.TopicPartition.String()), false)
	o.ParentSynced = true
	var err error
	if e.log, err = storage.Open(o); isShortage(err) {
		return nil, errors.Join(err, m.o.FS.RemoveAll(o.Dir)) // as in createIn
	} else if err != nil {
		return nil, err
	}
	m.add(n.TopicPartition, e)
	if err := d.err(); err != nil { // it failed meanwhile, and whoever took it offline may not have seen this log
		e.log.Fail(err)
		return nil, err
	}
	return e.log, nil
}

// syncPlaces makes the names in each directory durable and returns those where that was done.
func (m *Manager) syncPlaces(places []*dir) []*dir {
	var synced []*dir
	for _, d := range m.dirs {
		if !slices.Contains(places, d) || d.err() != nil {
			continue
		}
		if err := m.o.FS.SyncDir(d.path); err != nil {
			m.failDir(d, err)
			continue
		}
		synced = append(synced, d)
	}
	return synced
}
