package logdir

import (
	"errors"
	"fmt"
	"sync"

	"github.com/samsalog/samsa/storage/checkpoint"
)

// Close stops the background tasks, closes all logs, several at a time, writes the checkpoints and, where everything
// went well, the clean-shutdown marker, and lets the directories go. It returns what could not be done; a directory
// with an error has no marker and will be recovered by the next start.
func (m *Manager) Close() error {
	m.closing.Lock()
	defer m.closing.Unlock()
	if !m.beginClose() {
		return nil
	}
	m.cancel()
	if c := m.compaction(); c != nil {
		c.Close()
	}
	m.delays.stop() // DIR-7
	errs := make([]error, len(m.dirs))
	var closing sync.WaitGroup
	for i, d := range m.dirs {
		closing.Go(func() { errs[i] = m.closeDir(d) })
	}
	closing.Wait()
	m.wait()
	m.abandonLeaving()
	for _, d := range m.dirs {
		m.unlock(d)
	}
	return errors.Join(errs...)
}

// beginClose lets no change begin any more and waits for the one that is going on; false: it was closed before. The lock
// is not kept: a move may still ask for it, to learn that it is too late.
func (m *Manager) beginClose() bool {
	m.changes.Lock()
	defer m.changes.Unlock()
	was := m.closed
	m.closed = true
	return !was
}

// abandonLeaving closes the files of logs whose removal did not come to be. Their -delete directories are found by the
// next Load.
func (m *Manager) abandonLeaving() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for e := range m.leaving {
		e.log.Abandon()
	}
	clear(m.leaving)
}

// closeDir closes the logs of a directory and leaves its checkpoints and marker.
func (m *Manager) closeDir(d *dir) error {
	if d.metadataOnly || d.err() != nil || !d.listed.Load() {
		return nil // never loaded: the marker, if any, still stands
	}
	if err := m.closeLogs(d); err != nil {
		return err
	}
	if err := m.saveAll(d); err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	if err := d.err(); err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	if !m.deservesMarker(d) {
		return nil
	}
	marker := d.file(checkpoint.CleanShutdownFile)
	if err := checkpoint.WriteCleanShutdown(m.o.FS, marker, m.o.BrokerEpoch()); err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return nil
}

// deservesMarker reports whether every log in the directory is as an orderly stop leaves it (DIR-2): all were loaded, or
// those that were not had been left so before and nobody has touched them.
func (m *Manager) deservesMarker(d *dir) bool {
	if d.loaded.Load() {
		return true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, err := range d.unloaded {
		if !errors.Is(err, errNotLoaded) {
			return false
		}
	}
	return d.clean
}

// closeLogs closes the logs of one directory and joins their errors.
func (m *Manager) closeLogs(d *dir) error {
	list := m.everything(d)
	jobs := make(chan *entry, len(list))
	for _, e := range list {
		jobs <- e
	}
	close(jobs)
	var mu sync.Mutex
	var errs []error
	var workers sync.WaitGroup
	for range min(m.o.RecoveryThreads, len(list)) {
		workers.Go(func() {
			for e := range jobs {
				if err := protect(e.log.Close); err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("%v: %w", e.log.TopicPartition(), err))
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}
