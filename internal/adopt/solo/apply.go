package solo

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

const (
	lockFile = ".lock"
	// metadataFiles are the descriptors of the metadata log: a few segments with their indexes.
	metadataFiles = 16
)

// Apply carries the plan out (SOL-2). Interrupted, it is finished by a new Make and Apply.
func (p *Plan) Apply() (err error) {
	roots := slices.Sorted(maps.Keys(p.directories))
	for _, dir := range roots {
		unlock, err := p.lock(dir)
		if err != nil {
			return err
		}
		defer unlock()
	}
	for _, path := range roots {
		if !p.rewrite[path] {
			continue
		}
		meta := checkpoint.MetaProperties{ClusterID: p.ClusterID, NodeID: p.NodeID, DirectoryID: p.directories[path], Version: 1}
		if err := checkpoint.WriteMetaProperties(p.o.FS, filepath.Join(path, checkpoint.MetaPropertiesFile), meta, p.o.Now()); err != nil {
			return err
		}
	}
	return metadata.TakeOver(metadata.Options{
		FS: p.o.FS, Dir: p.MetadataDir, Handles: vfs.NewHandles(p.o.FS, metadataFiles), NodeID: p.NodeID, ClusterID: p.ClusterID,
		DirectoryID: p.directories[p.MetadataDir], ControllerEndpoint: p.o.Controller, Now: p.o.Now, Rand: p.o.Rand,
	}, p.records)
}

// lock keeps brokers out. A lock file that was not there is removed again.
func (p *Plan) lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	_, missing := p.o.FS.Stat(path)
	var lock io.Closer
	if lock, err = p.o.FS.Lock(path); errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("a broker is running on %s; stop it first: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	return func() {
		if missing != nil {
			_ = p.o.FS.Remove(path) // one that stays is what a killed broker leaves
		}
		_ = lock.Close() // nothing was written to it
	}, nil
}

// records are what has to change. Settings come before partitions: they make eligible leaders void.
func (p *Plan) records(i *metadata.Image) ([]stored.Message, error) {
	out := p.settings(i)
	for t := range i.Topics.All() {
		if p.gone[t.Name] {
			out = append(out, &stored.RemoveTopicRecord{TopicID: t.ID})
			continue
		}
		for n, x := range t.Partitions {
			if m := p.change(i, t, int32(n), x); m != nil {
				out = append(out, m)
			}
		}
	}
	for _, id := range p.ids() {
		if b := i.Brokers[id]; b != nil {
			out = append(out, &stored.UnregisterBrokerRecord{BrokerID: id, BrokerEpoch: b.Epoch})
		}
		if i.MetadataVersion() >= metadata.UnregisterVersion && i.ControllerRegistered(id) {
			out = append(out, &stored.UnregisterControllerRecord{ControllerID: id})
		}
	}
	// As after an orderly stop, so that the next broker need not wait for a session to run out.
	if b := i.Brokers[p.NodeID]; b != nil && !b.Fenced {
		out = append(out, &stored.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: 1})
	}
	return out, nil
}

func (p *Plan) settings(i *metadata.Image) (out []stored.Message) {
	for _, name := range p.MinInsync {
		kind := metadata.TopicResource
		if name == "" {
			kind = metadata.BrokerResource
		}
		out = append(out, &stored.ConfigRecord{ResourceType: kind, ResourceName: name, Name: "min.insync.replicas", Value: new("1")})
		if i.Features[metadata.ELRVersionFeature] > 0 {
			out = append(out, &stored.ClearElrRecord{TopicName: name})
		}
	}
	return out
}

// change makes this node the only replica of a partition, without a leader until it is up; nil: it is already.
func (p *Plan) change(i *metadata.Image, t *metadata.Topic, n int32, x *metadata.Partition) stored.Message {
	node := []int32{p.NodeID}
	directory := record.UnassignedDirID
	if place, ok := p.places[record.TopicPartition{Topic: t.Name, Partition: n}]; ok {
		directory = p.directories[place]
	} else if len(p.o.Dirs) == 1 {
		directory = p.directories[p.o.Dirs[0]]
	}
	withDirectories := i.MetadataVersion() >= metadata.DirectoriesVersion
	moved := withDirectories && (len(x.Directories) != 1 || x.Directories[0] != directory)
	eligible := slices.Equal(x.ISR, node) || len(x.ISR) == 0 && slices.Equal(x.ELR, node)
	if slices.Equal(x.Replicas, node) && eligible && len(x.Adding)+len(x.Removing) == 0 && !moved {
		return nil
	}
	m := stored.NewPartitionChangeRecord()
	m.PartitionID, m.TopicID, m.Leader = n, t.ID, stored.NoLeader
	m.Replicas, m.ISR, m.AddingReplicas, m.RemovingReplicas = node, node, []int32{}, []int32{}
	if withDirectories {
		m.Directories = []record.UUID{directory}
	}
	if i.Features[metadata.ELRVersionFeature] > 0 {
		// As an orderly stop leaves it. A broker that was killed is taken out of the in-sync and the eligible replicas when
		// it registers; then it leads again as the last leader that is known.
		m.ISR, m.EligibleLeaderReplicas, m.LastKnownELR = []int32{}, node, node
	}
	return &m
}
