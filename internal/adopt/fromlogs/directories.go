package fromlogs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

const (
	metadataName = metadata.TopicName + "-0"
	// unfinished is a file in a metadata directory that Apply has not finished with.
	unfinished = "samsa-adopting"
)

// directories reads whose the directories are.
func (p *Plan) directories() error {
	if len(p.o.Dirs) == 0 {
		return errors.New("no log directory")
	}
	if !slices.Contains(p.o.Dirs, p.o.MetadataDir) {
		return fmt.Errorf("the metadata directory %s is none of the log directories", p.o.MetadataDir)
	}
	p.NodeID, p.ClusterID = p.o.NodeID, p.o.ClusterID
	ids := map[record.UUID]string{}
	for _, path := range p.o.Dirs {
		d, meta, err := p.directory(path)
		if err != nil {
			return err
		}
		if other := ids[d.ID]; other != "" && !d.NewID {
			return fmt.Errorf("%w: %s and %s have the same directory id %s", ErrDisagree, other, path, d.ID)
		}
		ids[d.ID] = path
		if err := p.agree(path, meta); err != nil {
			return err
		}
		p.Directories = append(p.Directories, d)
	}
	if p.NodeID == checkpoint.NoNodeID {
		p.NodeID = 1
		p.note("no node id is told: it will be 1")
	}
	if p.ClusterID == "" {
		id, err := record.NewUUID(p.o.Rand)
		if err != nil {
			return err
		}
		p.ClusterID = id.String()
		p.note("no cluster id is told: a new one will be %s", p.ClusterID)
	}
	return p.refuseMetadata()
}

// directory describes one. A missing meta.properties is no error.
func (p *Plan) directory(path string) (Directory, checkpoint.MetaProperties, error) {
	d := Directory{Path: path, Era: "none"}
	if _, err := p.o.FS.ReadDir(path); err != nil {
		return d, checkpoint.MetaProperties{}, err
	}
	meta, err := checkpoint.ReadMetaProperties(p.o.FS, filepath.Join(path, checkpoint.MetaPropertiesFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		meta = checkpoint.MetaProperties{NodeID: checkpoint.NoNodeID}
	case err != nil:
		return d, meta, err
	case meta.Version == 0:
		d.Era = "zookeeper"
	default:
		d.Era = "kraft"
	}
	if d.ID = meta.DirectoryID; d.ID.IsZero() {
		d.NewID = true
		d.ID, err = record.NewUUID(p.o.Rand)
		return d, meta, err
	}
	return d, meta, nil
}

// agree takes cluster and node from a directory, which must not differ from the others.
func (p *Plan) agree(path string, meta checkpoint.MetaProperties) error {
	if meta.ClusterID != "" {
		if p.ClusterID != "" && p.ClusterID != meta.ClusterID {
			return fmt.Errorf("%w: %s is of cluster %s, not %s", ErrDisagree, path, meta.ClusterID, p.ClusterID)
		}
		p.ClusterID = meta.ClusterID
	}
	if meta.NodeID != checkpoint.NoNodeID {
		if p.NodeID != checkpoint.NoNodeID && p.NodeID != meta.NodeID {
			return fmt.Errorf("%w: %s is of node %d, not %d", ErrDisagree, path, meta.NodeID, p.NodeID)
		}
		p.NodeID = meta.NodeID
	}
	return nil
}

// Interrupted reports whether a log directory has the metadata of an Apply that did not come to its end. It is that of a
// KRaft node only once meta.properties says so.
func Interrupted(fsys vfs.FS, dir string) bool {
	_, err := fsys.Stat(filepath.Join(dir, metadataName, unfinished))
	return err == nil
}

// refuseMetadata refuses directories that have metadata, unless an Apply was interrupted between putting it there and
// making the directory that of a KRaft node.
func (p *Plan) refuseMetadata() error {
	for _, d := range p.Directories {
		log := filepath.Join(d.Path, metadataName)
		if _, err := p.o.FS.Stat(log); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if !Interrupted(p.o.FS, d.Path) || d.Era == "kraft" {
			return fmt.Errorf("%w: %s", ErrHasMetadata, log)
		}
		p.note("%s was left by an adoption that did not finish, and is made anew", log)
	}
	return nil
}

// find lists the partitions of all directories and samples them.
func (p *Plan) find(ctx context.Context) error {
	topics := map[string]*Topic{}
	for i := range p.Directories {
		if err := p.findIn(ctx, i, topics); err != nil {
			return err
		}
	}
	if len(topics) == 0 {
		p.note("there is no partition")
	}
	for _, t := range topics {
		slices.SortFunc(t.Partitions, func(a, b *Partition) int { return cmp.Compare(a.Number, b.Number) })
		for i := 1; i < len(t.Partitions); i++ {
			if a, b := t.Partitions[i-1], t.Partitions[i]; a.Number == b.Number {
				return fmt.Errorf("%w: %s and %s are the same partition; move one away", ErrDisagree, a.Dir, b.Dir)
			}
		}
		p.Topics = append(p.Topics, t)
	}
	slices.SortFunc(p.Topics, func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (p *Plan) findIn(ctx context.Context, root int, topics map[string]*Topic) error {
	d := &p.Directories[root]
	entries, err := p.o.FS.ReadDir(d.Path)
	if err != nil {
		return err
	}
	cleaned, err := checkpoint.ReadOffsets(p.o.FS, filepath.Join(d.Path, checkpoint.CleanerOffsetsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.note("%s: which topics were compacted has to be told from their records: %v", d.Path, err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(d.Path, e.Name())
		name, err := logdir.ParseName(e.Name())
		switch {
		case !e.IsDir(), e.Name() == metadataName, isStage(e.Name()):
			continue
		case err != nil:
			p.note("%s is no partition; Samsa leaves it alone, an Apache Kafka may refuse to start", path)
			continue
		case name.Kind != logdir.Current:
			d.Aside = append(d.Aside, path)
			continue
		}
		x := &Partition{Number: name.TopicPartition.Partition, Dir: path, root: root}
		x.id, err = checkpoint.ReadPartitionMetadata(p.o.FS, filepath.Join(path, checkpoint.PartitionMetadataFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		x.HasID = err == nil
		_, x.wasCleaned = cleaned[name.TopicPartition]
		if held, err := p.look(x); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		} else if !held && !x.HasID {
			p.note("%s holds no segment and is left alone", path)
			continue
		}
		t := topics[name.TopicPartition.Topic]
		if t == nil {
			t = &Topic{Name: name.TopicPartition.Topic}
			topics[name.TopicPartition.Topic] = t
		}
		t.Partitions = append(t.Partitions, x)
	}
	return nil
}
