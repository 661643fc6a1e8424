package samsa

import (
	"math"
	"time"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

const (
	// spaceCheckInterval is how soon producers are let in again once there is room.
	spaceCheckInterval = time.Second
	// ballastBytes is room for some thousand records of metadata, each of which can delete a topic.
	ballastBytes = 1 << 20
	// metadataFiles are the descriptors of the metadata log: a few segments with their indexes.
	metadataFiles = 16
)

// Shares of the descriptors. Files of logs are opened again in microseconds when they are needed, connections are not:
// so files get a quarter, connections the rest but for a part that is left to listeners, checkpoints, directories, the
// metadata log, the console, and the program around an embedded broker.
const (
	fileShare     = 4
	leastFiles    = 16
	mostFiles     = 16384
	leftShare     = 8
	mostLeft      = 256
	fewestSockets = 8
)

// descriptors divides what the process may open.
type descriptors struct{ files, connections int }

// share divides a limit; 0 is none. files is how many files of logs are wanted, 0: their share.
func share(limit, files int) descriptors {
	if files == 0 {
		files = mostFiles
		if limit > 0 {
			files = min(max(limit/fileShare, leastFiles), mostFiles)
		}
	}
	if limit == 0 {
		return descriptors{files, math.MaxInt32}
	}
	return descriptors{files, max(fewestSockets, limit-files-min(limit/leftShare, mostLeft))}
}

// descriptors are the shares of this process. At the bound of the connections accepting waits.
func (s *starting) descriptors() descriptors {
	return share(vfs.DescriptorLimit(), s.layers(nil).Int("samsa.max.open.files"))
}

// roomAgain opens what could not be opened while there was no room.
func (s *starting) roomAgain() { s.b.replicas.Reopen(s.b.store.Image) }

// moveThreads is how many logs are moved between directories at a time; 0: as many as there are directories.
func moveThreads(l config.Layers) int {
	if !l.Has("num.replica.alter.log.dirs.threads") {
		return 0
	}
	return l.Int("num.replica.alter.log.dirs.threads")
}

// producerExpiry is how long an idle producer is remembered on a partition.
func (s *starting) producerExpiry() time.Duration {
	return s.current().Duration("producer.id.expiration.ms")
}

// moveRate is how many bytes a second moves between directories may copy; 0: no limit.
func (s *starting) moveRate() int64 {
	l := s.current()
	if !l.Has("replica.alter.log.dirs.io.max.bytes.per.second") {
		return 0
	}
	return l.Int64("replica.alter.log.dirs.io.max.bytes.per.second")
}

// observeDirs turns what happens to the log directories into log lines.
func (s *starting) observeDirs(e logdir.Event) {
	switch e.Kind {
	case logdir.DirFull, logdir.PartitionFailed, logdir.TaskFailed:
		s.log.Warn(e.String())
	case logdir.LogEvent:
		if e.Log.Kind == storage.DamageKept || e.Log.Kind == storage.SegmentsDropped || e.Log.Kind == storage.RetentionHeld {
			s.log.Warn(e.String())
			return
		}
		s.log.Info(e.String())
	default:
		s.log.Info(e.String())
	}
}
