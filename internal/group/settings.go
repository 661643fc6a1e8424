package group

import (
	"time"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/record"
)

// Settings are the broker settings that the group coordinator follows. They are read again for every request,
// so a change takes effect at once.
type Settings struct {
	// MinSessionTimeout and MaxSessionTimeout bound what a joining member may ask for
	// (group.min.session.timeout.ms, group.max.session.timeout.ms).
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// InitialRebalanceDelay is how long the first members of an empty group wait for others
	// (group.initial.rebalance.delay.ms).
	InitialRebalanceDelay time.Duration
	// MaxSize bounds the members of a group (group.max.size).
	MaxSize int
	// ConsumerProtocol says that groups of the consumer protocol are served: group.version is finalized and
	// group.coordinator.rebalance.protocols names it.
	ConsumerProtocol bool
	// ConsumerMaxSize bounds the members of such a group (group.consumer.max.size), ConsumerAssignors are their
	// assignors, the default first (group.consumer.assignors).
	ConsumerMaxSize   int
	ConsumerAssignors []string
	// Upgrade and Downgrade let groups with members change to the consumer protocol and back
	// (group.consumer.migration.policy).
	Upgrade, Downgrade bool
	// StreamsProtocol says that groups of the streams protocol are served: streams.version is finalized and
	// group.coordinator.rebalance.protocols names it.
	StreamsProtocol bool
	// StreamsMaxSize bounds the members of such a group (group.streams.max.size).
	StreamsMaxSize int
	// ShareProtocol says that share groups are served: share.version is finalized.
	ShareProtocol bool
	// ShareMaxSize bounds the members of such a group (group.share.max.size).
	ShareMaxSize int
	// OffsetsRetention is how long committed offsets that nobody needs are kept (offsets.retention.minutes).
	OffsetsRetention time.Duration
	// OffsetsRetentionCheckInterval is how often that is looked at (offsets.retention.check.interval.ms).
	OffsetsRetentionCheckInterval time.Duration
	// OffsetMetadataMaxBytes bounds the text committed with an offset, in UTF-16 units as Kafka counts it
	// (offset.metadata.max.bytes).
	OffsetMetadataMaxBytes int
	// Codec compresses the coordinator's own batches (offsets.topic.compression.codec).
	Codec record.Codec
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{
		MinSessionTimeout:             6 * time.Second,
		MaxSessionTimeout:             30 * time.Minute,
		InitialRebalanceDelay:         3 * time.Second,
		MaxSize:                       1<<31 - 1,
		ConsumerProtocol:              true,
		ConsumerMaxSize:               1<<31 - 1,
		ConsumerAssignors:             []string{assignor.UniformName, assignor.RangeName},
		StreamsProtocol:               true,
		StreamsMaxSize:                1<<31 - 1,
		ShareProtocol:                 true,
		ShareMaxSize:                  200,
		Upgrade:                       true,
		Downgrade:                     true,
		OffsetsRetention:              7 * 24 * time.Hour,
		OffsetsRetentionCheckInterval: 10 * time.Minute,
		OffsetMetadataMaxBytes:        4096,
		Codec:                         record.None,
	}
}

// newMemberJoinTimeout bounds how long a member that joins for the first time is kept while it waits: it has no
// heartbeat yet (group.coordinator's fixed 5 minutes).
const newMemberJoinTimeout = 5 * time.Minute

// ConsumerConfig is what holds for one group of the consumer protocol: its own configs, else the broker's.
type ConsumerConfig struct {
	// SessionTimeout removes a member that was silent for so long (consumer.session.timeout.ms).
	SessionTimeout time.Duration
	// HeartbeatInterval is how often members are told to send heartbeats (consumer.heartbeat.interval.ms).
	HeartbeatInterval time.Duration
	// AssignmentInterval is the least time between two assignments (consumer.assignment.interval.ms).
	AssignmentInterval time.Duration
}

// DefaultConsumerConfig are Kafka's defaults.
func DefaultConsumerConfig() ConsumerConfig {
	return ConsumerConfig{SessionTimeout: 45 * time.Second, HeartbeatInterval: 5 * time.Second, AssignmentInterval: time.Second}
}

// StreamsConfig is what holds for one group of the streams protocol: its own configs, else the broker's.
type StreamsConfig struct {
	// SessionTimeout removes a member that was silent for so long (streams.session.timeout.ms).
	SessionTimeout time.Duration
	// HeartbeatInterval is how often members are told to send heartbeats (streams.heartbeat.interval.ms),
	// TaskOffsetInterval how often to report the offsets of their tasks (streams.task.offset.interval.ms).
	HeartbeatInterval, TaskOffsetInterval time.Duration
	// AssignmentInterval is the least time between two assignments (streams.assignment.interval.ms).
	AssignmentInterval time.Duration
	// InitialDelay is how long an empty group waits for more members (streams.initial.rebalance.delay.ms).
	InitialDelay time.Duration
	// AcceptableRecoveryLag is how far behind a copy may be and still count as caught up, in records
	// (streams.acceptable.recovery.lag).
	AcceptableRecoveryLag int64
	// Standbys is how many copies are kept of each task that keeps something (streams.num.standby.replicas).
	Standbys int
	// RackTags are the tags that members should have (streams.rack.aware.assignment.tags).
	RackTags []string
}

// DefaultStreamsConfig are Kafka's defaults.
func DefaultStreamsConfig() StreamsConfig {
	return StreamsConfig{
		SessionTimeout: 45 * time.Second, HeartbeatInterval: 5 * time.Second, TaskOffsetInterval: time.Minute,
		AssignmentInterval: time.Second, InitialDelay: 3 * time.Second, AcceptableRecoveryLag: 10000,
	}
}

// ShareConfig is what holds for one share group: its own configs, else the broker's.
type ShareConfig struct {
	// SessionTimeout removes a member that was silent for so long (share.session.timeout.ms).
	SessionTimeout time.Duration
	// HeartbeatInterval is how often members are told to send heartbeats (share.heartbeat.interval.ms).
	HeartbeatInterval time.Duration
	// AssignmentInterval is the least time between two assignments (share.assignment.interval.ms).
	AssignmentInterval time.Duration
}

// DefaultShareConfig are Kafka's defaults.
func DefaultShareConfig() ShareConfig {
	return ShareConfig{SessionTimeout: 45 * time.Second, HeartbeatInterval: 5 * time.Second, AssignmentInterval: time.Second}
}
