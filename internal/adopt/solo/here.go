package solo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/segment"
)

// replica is a partition directory of this node.
type replica struct {
	root          string // its log directory
	path          string
	id            record.UUID
	highWatermark int64 // -1: not known
}

// survey reads the directories.
func (p *Plan) survey(ctx context.Context) error {
	p.NodeID = checkpoint.NoNodeID
	roots := p.o.Dirs
	if p.o.MetadataDir != "" && !slices.Contains(roots, p.o.MetadataDir) {
		roots = append(slices.Clone(roots), p.o.MetadataDir)
	}
	for _, root := range roots {
		if err := p.identify(root); err != nil {
			return err
		}
		if slices.Contains(p.o.Dirs, root) {
			if err := p.list(ctx, root); err != nil {
				return err
			}
		}
	}
	if p.MetadataDir == "" {
		return ErrNoMetadata
	}
	return nil
}

// identify reads whose a directory is. A broker that was migrated from ZooKeeper keeps a meta.properties of version 0.
func (p *Plan) identify(root string) error {
	meta, err := checkpoint.ReadMetaProperties(p.o.FS, filepath.Join(root, checkpoint.MetaPropertiesFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && (meta.ClusterID == "" || meta.NodeID == checkpoint.NoNodeID) {
		return ErrNoMetadata
	}
	if err != nil {
		return err
	}
	if p.NodeID == checkpoint.NoNodeID {
		p.NodeID, p.ClusterID = meta.NodeID, meta.ClusterID
	}
	if meta.NodeID != p.NodeID || meta.ClusterID != p.ClusterID {
		return fmt.Errorf("%s is of node %d in cluster %s, not of node %d in cluster %s", root, meta.NodeID, meta.ClusterID, p.NodeID, p.ClusterID)
	}
	p.rewrite[root] = meta.Version == 0
	if meta.DirectoryID.IsZero() {
		p.rewrite[root] = true
		meta.DirectoryID, err = record.NewUUID(p.o.Rand)
	}
	p.directories[root], p.versions[root] = meta.DirectoryID, meta.Version
	return err
}

// list finds the partitions in a log directory.
func (p *Plan) list(ctx context.Context, root string) error {
	entries, err := p.o.FS.ReadDir(root)
	if err != nil {
		return err
	}
	marks, err := checkpoint.ReadOffsets(p.o.FS, filepath.Join(root, checkpoint.HighWatermarkFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.note("high watermarks are not known: %v", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := logdir.ParseName(e.Name())
		switch {
		case err != nil, !e.IsDir(), name.Kind != logdir.Current:
			continue
		case name.TopicPartition.Topic == metadata.TopicName:
			if p.MetadataDir == "" {
				p.MetadataDir = root
			}
			continue
		}
		x := replica{root: root, path: filepath.Join(root, e.Name()), highWatermark: -1}
		x.id, err = checkpoint.ReadPartitionMetadata(p.o.FS, filepath.Join(x.path, checkpoint.PartitionMetadataFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if hw, ok := marks[name.TopicPartition]; ok {
			x.highWatermark = int64(hw)
		}
		p.here[name.TopicPartition] = append(p.here[name.TopicPartition], x)
	}
	return nil
}

// find returns the directory of a partition of the topic with an id, nil if it is not here.
func (p *Plan) find(tp record.TopicPartition, id record.UUID) *replica {
	for i, x := range p.here[tp] {
		if x.id == id {
			return &p.here[tp][i]
		}
	}
	return nil
}

// logEnd is the offset behind the last whole batch of a log; recovery may cut it a little earlier.
func (p *Plan) logEnd(x *replica) (int64, error) {
	list, err := logfile.List(p.o.FS, x.path)
	if err != nil || len(list.Segments) == 0 {
		return 0, err
	}
	last := list.Segments[len(list.Segments)-1]
	f, err := logfile.Open(p.o.FS, list.Path(last.Base, segment.LogSuffix))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	end := last.Base
	for r.NextHeader() {
		end = int64(r.Header().NextOffset())
		r.Skip()
	}
	return end, nil
}
