package samsa

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// controllerEndpoint is what a formatted directory records as the address of its only voter. Samsa has no
// controller listener; an Apache Kafka that is started on the directory later has one, and brings its own
// address up to date.
var controllerEndpoint = metadata.Endpoint{Name: "CONTROLLER", Host: "localhost", Port: 9093}

func nodeName(id int32) string { return strconv.Itoa(int(id)) }

// openDirectories formats empty directories and takes the lock of each.
func (s *starting) openDirectories(context.Context) error {
	l := s.layers(nil)
	dirs, metadataDir := l.LogDirs(), s.metadataDir()
	if err := s.formatIfEmpty(dirs, metadataDir, l.NodeID); err != nil {
		return err
	}
	retention, ballast := l.Duration("log.retention.check.interval.ms"), ballastBytes
	if s.readOnly {
		retention, ballast = 0, 0
	}
	m, err := logdir.Open(logdir.Options{
		FS: s.fs, Dirs: dirs, MetadataDir: metadataDir,
		RecoveryThreads:        l.Int("num.recovery.threads.per.data.dir"),
		RetentionCheckInterval: retention,
		FlushCheckInterval:     l.Duration("log.flush.scheduler.interval.ms"),
		RecoveryPointInterval:  l.Duration("log.flush.offset.checkpoint.interval.ms"),
		LogStartInterval:       l.Duration("log.flush.start.offset.checkpoint.interval.ms"),
		HighWatermarkInterval:  l.Duration("replica.high.watermark.checkpoint.interval.ms"),
		InitialDelay:           l.Duration("log.initial.task.delay.ms"),
		ProducerExpiry:         s.producerExpiry,
		BrokerEpoch:            s.b.epoch.Load,
		Cleaner:                s.cleaner(),
		MaxOpenFiles:           s.descriptors().files,
		ReserveBytes:           func() int64 { return l.Int64("samsa.log.dir.reserve.bytes") },
		SpaceCheckInterval:     spaceCheckInterval,
		BallastBytes:           ballast,
		OnRoom:                 s.roomAgain,
		MoveThreads:            moveThreads(l),
		MoveBytesPerSecond:     s.moveRate,
		OnMoved:                func(tp record.TopicPartition) { s.b.replicas.Moved(tp, s.b.store.Image) },
		Observe:                s.observeDirs,
		OnDirFailure:           s.dirFailed,
	})
	if errors.Is(err, logdir.ErrZooKeeper) {
		return fmt.Errorf("%w: %w", ErrNoMetadata, err)
	}
	if err != nil {
		return err
	}
	s.b.dirs = m
	s.dirs.Store(m)
	s.undos = append(s.undos, func() { _ = m.Close() })
	return nil
}

// formatIfEmpty formats the directories if none of them holds anything yet. A directory that is empty among
// formatted ones is left to be refused: it may be a disk that was not mounted.
func (s *starting) formatIfEmpty(dirs []string, metadataDir string, node int32) error {
	for _, d := range dirs {
		entries, err := s.fs.ReadDir(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("log directory %s: %w", d, err)
		}
		for _, e := range entries {
			if e.Name() != "lost+found" {
				return nil
			}
		}
	}
	id, err := record.NewUUID(rand.Reader)
	if err != nil {
		return err
	}
	err = metadata.Format(s.fs, metadata.FormatOptions{
		Dirs: dirs, MetadataDir: metadataDir, ClusterID: id.String(), NodeID: node, Controller: s.controllerAddress(),
	})
	if err != nil {
		return err
	}
	s.log.Info("formatted new log directories", "dirs", dirs, "cluster_id", id.String())
	return nil
}

// controllerAddress is where an Apache Kafka that is started on the directories is to be its own controller: the
// listener that the settings give it, or the usual one. Nobody listens there meanwhile.
func (s *starting) controllerAddress() metadata.Endpoint {
	ls, err := s.layers(nil).Listeners(controllerEndpoint.Host)
	if err != nil || len(ls.Controller) == 0 || ls.Controller[0].Port <= 0 {
		return controllerEndpoint // settings that do not fit together are refused when the listeners are opened
	}
	e := metadata.Endpoint{Name: ls.Controller[0].Name, Host: ls.Controller[0].Host, Port: uint16(ls.Controller[0].Port)}
	if e.Host == "" {
		e.Host = controllerEndpoint.Host
	}
	return e
}

// dirFailed reports a directory that went offline. Its partitions answer KAFKA_STORAGE_ERROR from now on; the
// broker cannot go on without its metadata, nor when no directory is left (LogDirFailureHandler).
func (s *starting) dirFailed(id record.UUID, dir string, err error) {
	s.log.Error("log directory failed and is offline until the next start; its partitions answer KAFKA_STORAGE_ERROR, others go on", "dir", dir, "directory_id", id.String(), "err", err)
	switch {
	case dir == s.metadataDir():
		s.b.fail(fmt.Errorf("the log directory with the cluster's metadata failed: %s: %w", dir, err))
	case s.allOffline():
		s.b.fail(fmt.Errorf("all log directories have failed, the last one is %s: %w", dir, err))
	}
}

// allOffline reports whether no directory is left. While they are being opened, logdir.Open decides that itself.
func (s *starting) allOffline() bool {
	m := s.dirs.Load()
	return m != nil && !slices.ContainsFunc(m.Dirs(), func(d logdir.DirInfo) bool { return d.Err == nil })
}

// metadataDir is the log directory that holds the metadata log.
func (s *starting) metadataDir() string {
	l := s.layers(nil)
	if dir := l.String("metadata.log.dir"); dir != "" {
		return dir
	}
	return l.LogDirs()[0]
}

// openMetadata replays the cluster's metadata and begins a new leader epoch in it.
func (s *starting) openMetadata(context.Context) error {
	meta := s.b.dirs.Meta()
	l := s.layers(nil)
	if meta.NodeID != l.NodeID {
		return fmt.Errorf("the log directories belong to node %d, the configuration says node.id=%d", meta.NodeID, l.NodeID)
	}
	fsys := s.b.dirs.MetadataFS()
	store, err := metadata.Open(metadata.Options{
		FS: fsys, Dir: s.metadataDir(), Handles: vfs.NewHandles(fsys, metadataFiles), NodeID: l.NodeID, ClusterID: meta.ClusterID, DirectoryID: meta.DirectoryID,
		ControllerEndpoint: s.controllerAddress(),
		MinInsyncReplicas:  strconv.Itoa(l.Int("min.insync.replicas")),
		SegmentBytes:       l.Int("metadata.log.segment.bytes"),
		SegmentMs:          l.Int64("metadata.log.segment.ms"),
		Snapshots: metadata.SnapshotPolicy{
			MaxNewBytes:    l.Int64("metadata.log.max.record.bytes.between.snapshots"),
			MaxInterval:    orNever(l.Duration("metadata.log.max.snapshot.interval.ms")),
			RetentionBytes: l.Int64("metadata.max.retention.bytes"),
			Retention:      l.Duration("metadata.max.retention.ms"),
		},
		Accept:  s.accept,
		Observe: func(e storage.Event) { s.log.Info(e.String()) },
		Logger:  s.room("metadata"),
		OnFailure: func(err error) {
			s.b.fail(fmt.Errorf("the metadata log can no longer be written: %w", err))
		},
	})
	if err != nil {
		return largerCluster(err)
	}
	s.b.store = store
	s.undos = append(s.undos, func() { _ = store.Close() })
	return nil
}

// loadLogs opens all partitions that the image knows; others are set aside as strays.
func (s *starting) loadLogs(ctx context.Context) error {
	image, node := s.b.store.Image(), s.nodeID()
	l := s.layers(image)
	var configs sync.Map // by topic id: a topic has many partitions, and working its settings out takes longer than opening one
	return s.b.dirs.Load(ctx, func(tp record.TopicPartition, id record.UUID) (storage.Config, bool) {
		t := image.Topics.ByID(id)
		if t == nil || t.Name != tp.Topic || int(tp.Partition) >= len(t.Partitions) || !slices.Contains(t.Partitions[tp.Partition].Replicas, node) {
			return storage.Config{}, false
		}
		c, ok := configs.Load(id)
		if !ok {
			c = l.TopicConfig(image.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: tp.Topic}))
			configs.Store(id, c)
		}
		return c.(storage.Config), true
	})
}

// orNever turns Kafka's "0 means never" into the store's "negative means never".
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
