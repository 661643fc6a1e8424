package metadata

import (
	"iter"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// Image is the state of the whole cluster after all records up to Offset: what every room reads.
// It is immutable; a change makes a new Image that shares what did not change.
type Image struct {
	// Offset and Epoch are those of the last record applied; -1 before any.
	Offset record.Offset
	Epoch  record.LeaderEpoch
	// ClusterID is the id from meta.properties.
	ClusterID string
	// Features are the finalized levels by name, metadata.version included, levels of 0 left out.
	Features map[string]int16
	Brokers  map[int32]*Broker
	// Topics finds topics by name and by id.
	Topics Topics
	// configs holds dynamic configs by resource.
	configs pmap[ConfigResource, map[string]string]
	// NextProducerID is the first producer id that was never handed out in a block.
	NextProducerID record.ProducerID
	// What follows is kept for those who will act on it, and to be written into snapshots.
	controllers map[int32]*stored.RegisterControllerRecord
	quotas      pmap[string, *quota]
	acls        pmap[record.UUID, *stored.AccessControlEntryRecord]
	scram       pmap[scramKey, *stored.UserScramCredentialRecord]
	tokens      pmap[string, *stored.DelegationTokenRecord]
}

// quota holds the limits of one client quota entity.
type quota struct {
	entity []stored.ClientQuotaRecordEntityData
	values map[string]float64
}

// scramKey names a SCRAM credential: one per user and mechanism.
type scramKey struct {
	name      string
	mechanism int8
}

// emptyImage is the state before any record.
func emptyImage(clusterID string) *Image {
	return &Image{Offset: record.NoOffset, Epoch: record.NoLeaderEpoch, ClusterID: clusterID}
}

// Config returns the dynamic configs of a resource, nil when it has none. The map must not be changed.
func (i *Image) Config(r ConfigResource) map[string]string {
	c, _ := i.configs.get(r)
	return c
}

// ConfigResources yields the resources that have dynamic configs, in no particular order.
func (i *Image) ConfigResources() iter.Seq[ConfigResource] {
	return func(yield func(ConfigResource) bool) {
		for r := range i.configs.all() {
			if !yield(r) {
				return
			}
		}
	}
}

// MetadataVersion is the finalized level of metadata.version, 0 before the first bootstrap.
func (i *Image) MetadataVersion() int16 { return i.Features[MetadataVersionFeature] }

// ConfigResource names what a dynamic config belongs to. The cluster-wide broker default has Type
// BrokerResource and an empty Name.
type ConfigResource struct {
	Type int8
	Name string
}

// Resource types of ConfigRecord and of the config APIs.
const (
	TopicResource         int8 = 2
	BrokerResource        int8 = 4
	BrokerLoggerResource  int8 = 8
	ClientMetricsResource int8 = 16
	GroupResource         int8 = 32
)

// Broker is a registered broker.
type Broker struct {
	ID                   int32
	Epoch                int64
	IncarnationID        record.UUID
	Endpoints            []Endpoint
	Features             []FeatureRange
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool
	LogDirs              []record.UUID
	CordonedLogDirs      []record.UUID
}

// Endpoint is one advertised listener of a node.
type Endpoint struct {
	Name             string
	Host             string
	Port             uint16
	SecurityProtocol int16
}

// FeatureRange is what a node supports of a feature.
type FeatureRange struct {
	Name     string
	Min, Max int16
}

// Topic is a topic with its partitions; Partitions[i] is partition i.
type Topic struct {
	Name       string
	ID         record.UUID
	Partitions []*Partition
}

// Partition is the controller's view of a partition.
type Partition struct {
	Replicas, ISR       []int32
	Removing, Adding    []int32
	ELR, LastKnownELR   []int32
	Directories         []record.UUID
	Leader              int32 // -1 none
	LeaderEpoch         record.LeaderEpoch
	PartitionEpoch      int32
	LeaderRecoveryState int8
}
