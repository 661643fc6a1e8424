package coordinator

import (
	"time"

	"github.com/samsalog/samsa/record"
)

// Settings are the broker settings that the share coordinator follows. They are read again each time.
type Settings struct {
	// UpdatesPerSnapshot is how many updates of a share partition are written before it is written in full
	// (share.coordinator.snapshot.update.records.per.snapshot).
	UpdatesPerSnapshot int
	// ColdInterval is how old the last snapshot of a share partition may become
	// (share.coordinator.cold.partition.snapshot.interval.ms).
	ColdInterval time.Duration
	// PruneInterval is how often records that nobody needs are deleted (share.coordinator.state.topic.prune.interval.ms).
	PruneInterval time.Duration
	// Codec compresses the batches (share.coordinator.state.topic.compression.codec).
	Codec record.Codec
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{UpdatesPerSnapshot: 500, ColdInterval: 5 * time.Minute, PruneInterval: 5 * time.Minute, Codec: record.None}
}
