package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/samsalog/samsa/inspect/repair"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// knownCluster is what the metadata log beside some partitions says.
type knownCluster struct {
	image *metadata.Image
	// node is whose the directory is; checkpoint.NoNodeID if its meta.properties does not tell.
	node   int32
	voters map[int32]record.UUID
}

// metadataLog is the directory of the metadata log in a log directory.
const metadataLog = "__cluster_metadata-0"

// lookAround reads the metadata log in a log directory; nil when there is none, as in one of several directories of a node, of a
// broker that is no controller, or of a ZooKeeper cluster.
func lookAround(fsys vfs.FS, dir string) (*knownCluster, error) {
	if _, err := fsys.Stat(filepath.Join(dir, metadataLog)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	meta, err := verify.ReadMeta(fsys, dir)
	if err != nil { // "samsa verify" tells; the log says what it says
		meta = checkpoint.MetaProperties{NodeID: checkpoint.NoNodeID}
	}
	found, err := metadata.Look(fsys, dir, meta.ClusterID)
	if err != nil {
		return nil, err
	}
	return &knownCluster{image: found.Image, node: meta.NodeID, voters: found.VoterDirectories}, nil
}

// topic is the settings of a topic as far as metadata and a properties file (nil: none) tell; ok: there is such a topic.
func (k *knownCluster) topic(static *config.Static, name string) (c storage.Config, partitions int, ok bool) {
	t := k.image.Topics.ByName(name)
	if t == nil {
		return storage.Config{}, 0, false
	}
	l := config.Layers{Static: static, NodeID: k.node, Cluster: k.image.Config(metadata.ConfigResource{Type: metadata.BrokerResource}),
		Broker: k.image.Config(metadata.ConfigResource{Type: metadata.BrokerResource, Name: strconv.Itoa(int(k.node))})}
	return l.TopicConfig(k.image.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: name})), len(t.Partitions), true
}

// forRepair tells the repair of a directory what the metadata log says.
func (k *knownCluster) forRepair() *repair.Metadata {
	m := &repair.Metadata{Brokers: map[int32][]record.UUID{}, Voters: k.voters}
	for id, b := range k.image.Brokers {
		m.Brokers[id] = b.LogDirs
	}
	for t := range k.image.Topics.All() {
		c, _, _ := k.topic(nil, t.Name)
		out := repair.Topic{Name: t.Name, ID: t.ID, Compacted: c.CleanupCompact}
		for _, p := range t.Partitions {
			replicas := make([]repair.Replica, len(p.Replicas))
			for i, node := range p.Replicas {
				if replicas[i].Node = node; i < len(p.Directories) {
					replicas[i].Dir = p.Directories[i]
				}
			}
			out.Partitions = append(out.Partitions, replicas)
		}
		m.Topics = append(m.Topics, out)
	}
	return m
}
