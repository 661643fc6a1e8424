package logdir

import (
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
)

// Names at the top level of a log directory that are not partitions.
const (
	lockFile = ".lock"
	// metadataDirName is the metadata quorum's log. It has an owner of its own.
	metadataDirName = "__cluster_metadata-0"
	// remoteCacheName holds index files of remote segments.
	remoteCacheName = "remote-log-index-cache"
	// lostAndFound belongs to the file system.
	lostAndFound = "lost+found"
)

// dir is one log directory.
type dir struct {
	path string
	// metadataOnly: locked for the metadata log, holds no partitions of ours.
	metadataOnly bool
	meta         checkpoint.MetaProperties
	lock         io.Closer
	// rewrite: meta is not what meta.properties has yet. killed: the lock file was there before it was locked.
	rewrite, killed bool

	// clean: the marker was there at Open; brokerEpoch is what it said.
	clean       bool
	brokerEpoch int64

	// failure is why the directory is offline; set once.
	failure atomic.Pointer[error]

	// logs are the open logs, guarded by Manager.mu.
	logs map[record.TopicPartition]*entry
	// futures are copies of logs that are being moved here, guarded by Manager.mu; found are those that Load saw.
	futures map[record.TopicPartition]*entry
	found   []job
	// unloaded are partitions that stand in the directory and are not open, with the reason; guarded by Manager.mu.
	unloaded map[record.TopicPartition]error
	// listed: Load knows what the directory holds. loaded: every partition in it was handled.
	listed, loaded atomic.Bool
	// renamed: Load has set strays aside and must sync the directory.
	renamed atomic.Bool

	// room is guarded by Manager.mu; refuse is why clients may not append, nil: they may (DIR-8).
	room   room
	refuse atomic.Pointer[error]

	// progress counts what Load does.
	progress loadCount

	// saving serialises the writing of checkpoints, and guards files and cleaned.
	saving sync.Mutex
	files  [checkpointKinds]savedCheckpoint
	// cleaned is the cleaner checkpoint: up to where each compacted log is clean.
	cleaned savedCheckpoint
}

// entry is an open log.
type entry struct {
	log *storage.Log
	dir *dir
	// leaving: the log is being deleted or its directory has failed, so its errors concern nobody.
	leaving atomic.Bool
}

func (d *dir) file(name string) string { return filepath.Join(d.path, name) }

// err returns why the directory is offline, nil while it is not.
func (d *dir) err() error {
	if p := d.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// fail takes the directory offline; false when it already is.
func (d *dir) fail(err error) bool { return d.failure.CompareAndSwap(nil, &err) }
