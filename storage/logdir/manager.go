package logdir

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/cleaner"
	"github.com/samsalog/samsa/storage/throttle"
	"github.com/samsalog/samsa/vfs"
)

// Manager is the log directories of one broker.
type Manager struct {
	o       Options
	handles *vfs.Handles
	dirs    []*dir // as configured; a separate metadata directory last
	delays  *delays
	ballast *ballast

	ctx    context.Context // ends the background tasks
	cancel context.CancelFunc
	// background are the tasks and the handling of failed directories.
	background sync.WaitGroup
	tasks      []*task          // set by Start
	cleaner    *cleaner.Cleaner // set by Start, nil if nothing is compacted

	began atomic.Bool // Load was called: the directories may be changed

	// changes is held by Create, Delete, Move and the end of a move as a whole.
	changes sync.Mutex
	closed  bool       // guarded by changes
	closing sync.Mutex // held by Close

	moving       chan struct{} // as many as there may be moves at a time
	moveThrottle *throttle.Throttle
	resumed      []*entry // copies that Load found, for Start

	mu      sync.RWMutex
	logs    map[record.TopicPartition]*entry // of all directories, offline ones included
	leaving map[*entry]bool                  // given up and not removed yet
	moves   map[record.TopicPartition]*move
	ended   bool // background takes nothing any more
}

// DirInfo describes one log directory.
type DirInfo struct {
	// ID is zero when the directory could not be read.
	ID   record.UUID
	Path string
	// Err is why the directory is offline; nil: it is not.
	Err error
	// Total and Usable are those of its file system in bytes; 0 when not known.
	Total, Usable uint64
	// Logs are the logs in it; none of an offline one.
	Logs []*storage.Log
	// Futures are unfinished copies of logs that are being moved here.
	Futures []FutureLog
	// Cordoned: it gets no new partitions.
	Cordoned bool
}

// Meta returns what meta.properties of the metadata directory says: the cluster id and node id are those of all, the
// directory id is what the voter set has.
func (m *Manager) Meta() checkpoint.MetaProperties {
	for _, d := range m.dirs {
		if m.holdsMetadata(d) {
			return d.meta
		}
	}
	return checkpoint.MetaProperties{NodeID: checkpoint.NoNodeID}
}

func (m *Manager) holdsMetadata(d *dir) bool {
	return filepath.Clean(d.path) == filepath.Clean(m.o.MetadataDir)
}

// DirIDs returns the ids of the directories that are online, in the order of configuration.
func (m *Manager) DirIDs() []record.UUID {
	var ids []record.UUID
	for _, d := range m.dirs {
		if !d.metadataOnly && d.err() == nil {
			ids = append(ids, d.meta.DirectoryID)
		}
	}
	return ids
}

// PreviousBrokerEpoch returns the broker epoch of the process that stopped here cleanly; -1 when the last stop was not
// clean or the epoch is not known.
func (m *Manager) PreviousBrokerEpoch() int64 {
	epoch := checkpoint.UnknownBrokerEpoch
	for _, d := range m.dirs {
		epoch = max(epoch, d.brokerEpoch)
	}
	return epoch
}

// Handles returns the pool of descriptors that all logs share.
func (m *Manager) Handles() *vfs.Handles { return m.handles }

// FS returns the file system.
func (m *Manager) FS() vfs.FS { return m.o.FS }

// Log returns the log of a partition, nil when there is none. The log of a partition whose directory has failed is
// returned too: it answers with storage errors.
func (m *Manager) Log(tp record.TopicPartition) *storage.Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.logs[tp]; e != nil {
		return e.log
	}
	return nil
}

// Logs returns all logs in directories that are online, in no order.
func (m *Manager) Logs() []*storage.Log {
	var logs []*storage.Log
	for _, e := range m.entries(nil) {
		logs = append(logs, e.log)
	}
	return logs
}

// entries returns the logs of one directory, or (nil) those of all that are online.
func (m *Manager) entries(of *dir) []*entry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []*entry
	for _, d := range m.dirs {
		if of == nil && d.err() != nil || of != nil && d != of {
			continue
		}
		for _, e := range d.logs {
			list = append(list, e)
		}
	}
	return list
}

// Dirs describes the log directories in the order of configuration.
func (m *Manager) Dirs() []DirInfo {
	var infos []DirInfo
	for _, d := range m.dirs {
		if d.metadataOnly {
			continue
		}
		info := DirInfo{ID: d.meta.DirectoryID, Path: d.path, Err: d.err(), Cordoned: m.o.Cordoned(d.path)}
		if info.Err == nil {
			if total, usable, err := m.o.FS.Usage(d.path); err == nil {
				info.Total, info.Usable = total, usable
			}
			for _, e := range m.entries(d) {
				info.Logs = append(info.Logs, e.log)
			}
			info.Futures = m.futures(d)
		}
		infos = append(infos, info)
	}
	return infos
}

// report tells of an event.
func (m *Manager) report(e Event) { m.o.Observe(e) }

// add enters an open log.
func (m *Manager) add(tp record.TopicPartition, e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs[tp] = e
	e.dir.logs[tp] = e
	delete(e.dir.unloaded, tp)
}
