package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/samsalog/samsa/inspect/repair"
	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// knownCluster is what the metadata log beside some partitions says.
type knownCluster struct {
	image *metadata.Image
	node  int32
}

// metadataLog is the directory of the metadata log in a log directory.
const metadataLog = "__cluster_metadata-0"

// lookAround reads the metadata log in a log directory; nil when there is none, as in one of several directories of a node, of a
// broker that is no controller, or of a ZooKeeper cluster.
func lookAround(fsys vfs.FS, dir string) (*knownCluster, error) {
	if _, err := fsys.Stat(filepath.Join(dir, metadataLog)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	meta, err := checkpoint.ReadMetaProperties(fsys, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found, err := metadata.Look(fsys, dir, meta.ClusterID)
	if err != nil {
		return nil, err
	}
	return &knownCluster{image: found.Image, node: meta.NodeID}, nil
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
	m := &repair.Metadata{}
	for t := range k.image.Topics.All() {
		c, _, _ := k.topic(nil, t.Name)
		out := repair.Topic{Name: t.Name, ID: t.ID, Compacted: c.CleanupCompact}
		for _, p := range t.Partitions {
			at := slices.Index(p.Replicas, k.node)
			place := repair.Placement{Here: at >= 0}
			if at >= 0 && at < len(p.Directories) {
				place.Dir = p.Directories[at]
			}
			out.Partitions = append(out.Partitions, place)
		}
		m.Topics = append(m.Topics, out)
	}
	return m
}
