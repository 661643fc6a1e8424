package fromlogs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

const (
	// stagePrefix and stageSuffix make the name of the directory in which metadata is built one of a deleted topic's
	// partition, which every broker removes.
	stagePrefix = "samsa-adopt-0."
	stageSuffix = "-delete"
	lockFile    = ".lock"

	// idBlock is how many producer ids are given out at once.
	idBlock = 1000
	// recordsPerBatch keeps batches of metadata far below their limit.
	recordsPerBatch = 5000
)

func isStage(name string) bool {
	return strings.HasPrefix(name, stagePrefix) && strings.HasSuffix(name, stageSuffix)
}

// Apply carries the plan out (FLG-2). Interrupted, it is finished by a new Make and Apply.
func (p *Plan) Apply() (err error) {
	locks, err := p.lock()
	defer func() { err = errors.Join(err, p.unlock(locks)) }()
	if err != nil {
		return err
	}
	if err := p.clear(); err != nil {
		return err
	}
	stage, err := p.build()
	if err != nil {
		return fmt.Errorf("building metadata: %w", err)
	}
	moveIn := func() error { return p.moveIn(stage) }
	for _, step := range []func() error{p.writeIDs, p.nameOthers, moveIn, p.commit, p.finish, p.writeOthers} {
		if err := step(); err != nil {
			return err
		}
	}
	return p.removeStages()
}

// held is the lock of a directory; made: its file was not there.
type held struct {
	io.Closer
	path string
	made bool
}

func (p *Plan) lock() (locks []held, err error) {
	for _, d := range p.Directories {
		path := filepath.Join(d.Path, lockFile)
		_, missing := p.o.FS.Stat(path)
		lock, err := p.o.FS.Lock(path)
		if errors.Is(err, vfs.ErrLocked) {
			return locks, fmt.Errorf("a broker is running on %s; stop it first: %w", d.Path, err)
		}
		if err != nil {
			return locks, err
		}
		locks = append(locks, held{lock, path, missing != nil})
	}
	return locks, nil
}

func (p *Plan) unlock(locks []held) error {
	var errs []error
	for _, l := range locks {
		if l.made {
			errs = append(errs, p.o.FS.Remove(l.path))
		}
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// clear removes what an Apply left that did not finish.
func (p *Plan) clear() error {
	for _, d := range p.Directories {
		log := filepath.Join(d.Path, metadataName)
		if _, err := p.o.FS.Stat(filepath.Join(log, unfinished)); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		stage, err := p.stage(d.Path)
		if err != nil {
			return err
		}
		if err := p.o.FS.Rename(log, stage); err != nil {
			return err
		}
		if err := p.o.FS.SyncDir(d.Path); err != nil {
			return err
		}
	}
	return p.removeStages()
}

// stage is a path for a directory that nobody takes for data.
func (p *Plan) stage(dir string) (string, error) {
	id, err := record.NewUUID(p.o.Rand)
	return filepath.Join(dir, stagePrefix+hex.EncodeToString(id[:])+stageSuffix), err
}

func (p *Plan) removeStages() error {
	for _, d := range p.Directories {
		entries, err := p.o.FS.ReadDir(d.Path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !isStage(e.Name()) {
				continue
			}
			if err := p.o.FS.RemoveAll(filepath.Join(d.Path, e.Name())); err != nil {
				return err
			}
			if err := p.o.FS.SyncDir(d.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// metadataDirectory is the directory that gets the metadata log.
func (p *Plan) metadataDirectory() Directory {
	for _, d := range p.Directories {
		if d.Path == p.MetadataDir {
			return d
		}
	}
	return p.Directories[0]
}

// build makes the metadata log in a stage, which it returns.
func (p *Plan) build() (string, error) {
	stage, err := p.stage(p.MetadataDir)
	if err != nil {
		return "", err
	}
	directory := p.metadataDirectory().ID
	err = metadata.Format(p.o.FS, metadata.FormatOptions{
		Dirs: []string{stage}, DirectoryIDs: map[string]record.UUID{stage: directory}, ClusterID: p.ClusterID, NodeID: p.NodeID,
		Controller: p.o.Controller, Rand: p.o.Rand, Now: p.o.Now,
	})
	if err != nil {
		return "", err
	}
	if err := p.mark(filepath.Join(stage, metadataName)); err != nil {
		return "", err
	}
	store, err := metadata.Open(metadata.Options{
		FS: p.o.FS, Dir: stage, Handles: vfs.NewHandles(p.o.FS, stageFiles), NodeID: p.NodeID, ClusterID: p.ClusterID,
		DirectoryID: directory, ControllerEndpoint: p.o.Controller, Now: p.o.Now, Rand: p.o.Rand,
	})
	if err != nil {
		return "", err
	}
	err = p.fill(store)
	return stage, errors.Join(err, store.Close())
}

// stageFiles are the descriptors of a metadata log of one segment.
const stageFiles = 8

// mark says that the metadata is not finished.
func (p *Plan) mark(dir string) error {
	f, err := p.o.FS.OpenFile(filepath.Join(dir, unfinished), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return p.o.FS.SyncDir(dir)
}

// fill writes the records of all topics.
func (p *Plan) fill(store *metadata.Store) error {
	records := p.records()
	for len(records) > 0 {
		n := min(len(records), recordsPerBatch)
		if _, err := store.Append(records[:n]...); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

func (p *Plan) records() (out []stored.Message) {
	largest := record.NoProducerID
	for _, t := range p.Topics {
		out = append(out, &stored.TopicRecord{Name: t.Name, TopicID: t.ID})
		for _, s := range t.Settings {
			out = append(out, &stored.ConfigRecord{ResourceType: metadata.TopicResource, ResourceName: t.Name, Name: s.Key, Value: &s.Value})
		}
		for _, x := range t.Partitions {
			out = append(out, p.partitionRecord(t, x))
			if x.Dir != "" {
				largest = max(largest, x.maxProducer)
			}
		}
	}
	if largest >= 0 {
		p.NextProducerID = (largest/idBlock + 1) * idBlock
		out = append(out, &stored.ProducerIdsRecord{BrokerID: p.NodeID, BrokerEpoch: -1, NextProducerID: int64(p.NextProducerID)})
	}
	return out
}

// partitionRecord gives a partition to the node, alone, as an orderly stop leaves it: the node leads it again once it is
// up. A broker that found itself the leader of a partition before it is registered would begin to load it twice.
func (p *Plan) partitionRecord(t *Topic, x *Partition) *stored.PartitionRecord {
	m := stored.NewPartitionRecord()
	node := []int32{p.NodeID}
	m.PartitionID, m.TopicID = x.Number, t.ID
	m.Leader, m.LeaderEpoch, m.PartitionEpoch = stored.NoLeader, int32(x.LeaderEpoch), 0
	m.Replicas, m.RemovingReplicas, m.AddingReplicas = node, []int32{}, []int32{}
	m.ISR, m.EligibleLeaderReplicas, m.LastKnownELR = []int32{}, node, node
	directory := p.Directories[x.root].ID
	if x.Dir == "" && len(p.Directories) > 1 {
		directory = record.UnassignedDirID
	}
	m.Directories = []record.UUID{directory}
	return &m
}

// writeIDs writes partition.metadata where it is missing.
func (p *Plan) writeIDs() error {
	for _, t := range p.Topics {
		for _, x := range t.Partitions {
			if x.Dir == "" || x.HasID {
				continue
			}
			if err := checkpoint.WritePartitionMetadata(p.o.FS, filepath.Join(x.Dir, checkpoint.PartitionMetadataFile), t.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveIn puts the metadata in its place.
func (p *Plan) moveIn(stage string) error {
	if err := p.o.FS.SyncDir(stage); err != nil {
		return err
	}
	if err := p.o.FS.Rename(filepath.Join(stage, metadataName), filepath.Join(p.MetadataDir, metadataName)); err != nil {
		return err
	}
	return errors.Join(p.o.FS.SyncDir(p.MetadataDir), p.o.FS.SyncDir(stage))
}

// nameOthers gives the directories besides that of the metadata their ids, and says whose they are where nothing does. A
// broker of ZooKeeper's time still takes them, and so does one of KRaft's as soon as the metadata directory is its own.
func (p *Plan) nameOthers() error {
	for _, d := range p.Directories {
		version := 0
		switch {
		case d.Era == "kraft" && !d.NewID, d.Era != "kraft" && d.Path == p.MetadataDir:
			continue
		case d.Era == "kraft":
			version = 1
		}
		if err := p.writeMeta(d, version); err != nil {
			return err
		}
	}
	return nil
}

// commit makes the metadata directory that of a KRaft node. From here on the directories are what they are to become.
func (p *Plan) commit() error {
	d := p.metadataDirectory()
	if d.Era == "kraft" {
		return nil // since the metadata is in its place
	}
	return p.writeMeta(d, 1)
}

// writeOthers does the same for the others. Without it brokers take them all the same: Samsa makes up for it at its next
// start, Apache Kafka leaves them.
func (p *Plan) writeOthers() error {
	for _, d := range p.Directories {
		if d.Era == "kraft" || d.Path == p.MetadataDir {
			continue
		}
		if err := p.writeMeta(d, 1); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) writeMeta(d Directory, version int) error {
	meta := checkpoint.MetaProperties{ClusterID: p.ClusterID, NodeID: p.NodeID, DirectoryID: d.ID, Version: version}
	return checkpoint.WriteMetaProperties(p.o.FS, filepath.Join(d.Path, checkpoint.MetaPropertiesFile), meta, p.o.Now())
}

// finish takes the mark away.
func (p *Plan) finish() error {
	dir := filepath.Join(p.MetadataDir, metadataName)
	if err := p.o.FS.Remove(filepath.Join(dir, unfinished)); err != nil {
		return err
	}
	return p.o.FS.SyncDir(dir)
}
