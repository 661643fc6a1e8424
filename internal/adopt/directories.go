package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/internal/adopt/fromlogs"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// Names at the top of a log directory that belong to no partition.
const (
	lockFile    = ".lock"
	remoteCache = "remote-log-index-cache"
	lostFound   = "lost+found"
)

// Directory is one log directory.
type Directory struct {
	Path string `json:"path"`
	// Meta is meta.properties; MetaError why there is none that can be read, "" if there is.
	ClusterID   string `json:"clusterId"`
	NodeID      int32  `json:"nodeId"`
	DirectoryID string `json:"directoryId"` // "": none yet
	Version     int    `json:"version"`     // of meta.properties: 1, or 0 of ZooKeeper's time; -1 without the file
	MetaError   string `json:"metaError,omitempty"`
	// State is clean after an orderly stop, killed without, in use while a broker holds the lock, new without any run.
	State string `json:"state"`
	// BrokerEpoch is that of the process that stopped in order, -1 otherwise.
	BrokerEpoch int64 `json:"brokerEpoch"`
	// Metadata: the metadata log is here.
	Metadata   bool  `json:"metadata"`
	Partitions int   `json:"partitions"`
	Bytes      int64 `json:"bytes"` // of segments
	// Foreign are entries that are no Kafka's.
	Foreign []string `json:"foreign"`

	names                                []string // of partition directories
	recovery, start, highWatermark, dirt map[record.TopicPartition]record.Offset
	checkpointErrors                     []string
}

// Clean reports whether the last broker has stopped in order.
func (d *Directory) Clean() bool { return d.State == clean }

// States of a directory.
const (
	clean  = "clean"
	killed = "killed"
	inUse  = "in use"
	fresh  = "new"
)

func (l *looker) directories(context.Context) error {
	for _, path := range l.Dirs {
		d := &Directory{Path: path, NodeID: checkpoint.NoNodeID, Version: -1, BrokerEpoch: checkpoint.UnknownBrokerEpoch}
		entries, err := l.FS.ReadDir(path)
		if err != nil {
			return err
		}
		l.r.Directories = append(l.r.Directories, d)
		l.meta(d)
		l.sort(d, entries)
		l.state(d)
		l.checkpoints(d)
	}
	l.identity()
	return nil
}

func (l *looker) meta(d *Directory) {
	meta, err := checkpoint.ReadMetaProperties(l.FS, filepath.Join(d.Path, checkpoint.MetaPropertiesFile))
	if err != nil {
		if d.MetaError = err.Error(); errors.Is(err, fs.ErrNotExist) {
			d.MetaError = "there is no " + checkpoint.MetaPropertiesFile
		}
		return
	}
	d.ClusterID, d.NodeID, d.Version = meta.ClusterID, meta.NodeID, meta.Version
	if !meta.DirectoryID.IsZero() {
		d.DirectoryID = meta.DirectoryID.String()
	}
}

// sort tells partitions from what is foreign.
func (l *looker) sort(d *Directory, entries []fs.DirEntry) {
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() {
			continue // a broker passes over files that it does not know
		}
		n, err := logdir.ParseName(name)
		switch {
		case name == remoteCache:
			d.Foreign = append(d.Foreign, name+" (the index cache of tiered storage)")
		case err != nil:
			d.Foreign = append(d.Foreign, name)
		case n.TopicPartition.Topic == metadata.TopicName && n.Kind == logdir.Current:
			d.Metadata = true
		default:
			d.names = append(d.names, name)
		}
	}
	d.Partitions = len(d.names)
}

// state finds out how the last run has ended. The lock is tried only where its file is there already.
func (l *looker) state(d *Directory) {
	epoch, marker, err := checkpoint.ReadCleanShutdown(l.FS, filepath.Join(d.Path, checkpoint.CleanShutdownFile))
	if err != nil {
		l.unread(err)
	}
	ran := false
	for _, name := range []string{checkpoint.RecoveryPointFile, lockFile} {
		_, err := l.FS.Stat(filepath.Join(d.Path, name))
		ran = ran || err == nil
	}
	switch {
	case !l.Locked && InUse(l.FS, d.Path):
		d.State = inUse
	case marker:
		d.State, d.BrokerEpoch = clean, epoch
	case ran || len(d.names) > 0:
		d.State = killed
	default:
		d.State = fresh
	}
}

// InUse reports whether a broker holds the lock of a directory.
func InUse(fsys vfs.FS, dir string) bool {
	path := filepath.Join(dir, lockFile)
	if _, err := fsys.Stat(path); err != nil {
		return false
	}
	lock, err := fsys.Lock(path)
	if err == nil {
		_ = lock.Close() // nobody holds it; it was there before
	}
	return errors.Is(err, vfs.ErrLocked)
}

func (l *looker) checkpoints(d *Directory) {
	for _, c := range []struct {
		name string
		into *map[record.TopicPartition]record.Offset
	}{
		{checkpoint.RecoveryPointFile, &d.recovery}, {checkpoint.LogStartFile, &d.start},
		{checkpoint.HighWatermarkFile, &d.highWatermark}, {checkpoint.CleanerOffsetsFile, &d.dirt},
	} {
		offsets, err := checkpoint.ReadOffsets(l.FS, filepath.Join(d.Path, c.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.checkpointErrors = append(d.checkpointErrors, err.Error())
		}
		*c.into = offsets
	}
}

// identity takes cluster and node from the directories; where they differ, from the first that has them.
func (l *looker) identity() {
	for _, d := range l.r.Directories {
		if d.Version < 0 {
			continue
		}
		if l.r.ClusterID == "" {
			l.r.ClusterID = d.ClusterID
		}
		if l.r.NodeID < 0 {
			l.r.NodeID = d.NodeID
		}
	}
	if l.MetadataDir == "" {
		if i := slices.IndexFunc(l.r.Directories, func(d *Directory) bool { return d.Metadata }); i >= 0 {
			l.MetadataDir = l.r.Directories[i].Path
		} else {
			l.MetadataDir = l.Dirs[0]
		}
	}
	l.r.Era = l.era()
}

// era is told by the metadata directory, or the first that has a meta.properties. A broker that was migrated from ZooKeeper
// has a metadata log beside a meta.properties of version 0.
func (l *looker) era() string {
	version := -1
	for _, d := range l.r.Directories {
		switch {
		case d.Version < 0:
		case d.Path == l.MetadataDir && d.Version == 0 && d.Metadata && !fromlogs.Interrupted(l.FS, d.Path):
			version = 1
		case d.Path == l.MetadataDir || version < 0:
			version = min(d.Version, 1)
		}
	}
	if version < 0 {
		return "none"
	}
	return [...]string{"zookeeper", "kraft"}[version]
}

// disagreements are the reasons why directories cannot be of one node.
func (r *Report) disagreements() (out []string) {
	ids := map[string]string{}
	for _, d := range r.Directories {
		if d.MetaError != "" {
			out = append(out, fmt.Sprintf("%s: %s", d.Path, d.MetaError))
			continue
		}
		if d.ClusterID != r.ClusterID || d.NodeID != r.NodeID {
			out = append(out, fmt.Sprintf("%s is of node %d in cluster %s, others are of node %d in cluster %s", d.Path, d.NodeID, d.ClusterID, r.NodeID, r.ClusterID))
		}
		if other := ids[d.DirectoryID]; other != "" && d.DirectoryID != "" {
			out = append(out, fmt.Sprintf("%s and %s have the same directory id %s; one is a copy of the other", other, d.Path, d.DirectoryID))
		}
		ids[d.DirectoryID] = d.Path
	}
	return out
}
