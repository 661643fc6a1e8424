package metadata

import (
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
	configs map[ConfigResource]map[string]string
	// NextProducerID is the first producer id that was never handed out in a block.
	NextProducerID record.ProducerID
}

// Config returns the dynamic configs of a resource, nil when it has none. The map must not be changed.
func (i *Image) Config(r ConfigResource) map[string]string { return i.configs[r] }

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
