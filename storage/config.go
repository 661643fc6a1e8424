package storage

import (
	"math"

	"github.com/samsalog/samsa/record"
)

// Config holds the settings of one topic that its logs need; fields echo the properties (`segment.bytes` is
// SegmentBytes). Values are taken as they come: whoever reads a configuration checks it.
type Config struct {
	// SegmentBytes is the size at which a segment is rolled, and the largest append.
	SegmentBytes int
	// SegmentMs rolls a segment by age of its first record; SegmentJitterMs is the most that is subtracted at random.
	SegmentMs, SegmentJitterMs int64
	// RetentionBytes keeps at least that much; RetentionMs keeps what is not older. Negative: no limit.
	RetentionBytes, RetentionMs int64
	// IndexIntervalBytes is how much log one index entry stands for; SegmentIndexBytes bounds each index.
	IndexIntervalBytes, SegmentIndexBytes int
	// FlushMessages is after how many records an append fsyncs; FlushMs is for the owner's flusher.
	FlushMessages, FlushMs int64
	// MaxMessageBytes bounds a batch as stored, MaxDecompressedMessageBytes a record inside a compressed one.
	MaxMessageBytes, MaxDecompressedMessageBytes int
	// CleanupCompact and CleanupDelete are cleanup.policy.
	CleanupCompact, CleanupDelete bool
	// CompressionType is "producer", "uncompressed" or a codec's name; the levels are for the latter.
	CompressionType                string
	GzipLevel, LZ4Level, ZstdLevel int
	TimestampType                  record.TimestampType
	TimestampBeforeMaxMs           int64
	TimestampAfterMaxMs            int64
	FileDeleteDelayMs              int64
	DeleteRetentionMs              int64
	MinCompactionLagMs             int64
	MaxCompactionLagMs             int64
	MinCleanableDirtyRatio         float64
	MinInsyncReplicas              int
	Preallocate                    bool
	UncleanLeaderElection          bool
}

// DefaultConfig returns the defaults of Apache Kafka 4.4.
func DefaultConfig() Config {
	return Config{
		SegmentBytes: 1 << 30, SegmentMs: 7 * 24 * 3600 * 1000,
		RetentionBytes: -1, RetentionMs: 7 * 24 * 3600 * 1000,
		IndexIntervalBytes: 4096, SegmentIndexBytes: 10 << 20,
		FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64,
		MaxMessageBytes: 1048588, MaxDecompressedMessageBytes: math.MaxInt32 - 8,
		CleanupDelete: true, CompressionType: "producer", GzipLevel: -1, LZ4Level: 9, ZstdLevel: 3,
		TimestampType: record.CreateTime, TimestampBeforeMaxMs: math.MaxInt64, TimestampAfterMaxMs: 3600 * 1000,
		FileDeleteDelayMs: 60000, DeleteRetentionMs: 24 * 3600 * 1000, MaxCompactionLagMs: math.MaxInt64,
		MinCleanableDirtyRatio: 0.5, MinInsyncReplicas: 1,
	}
}

// codec returns what batches are stored with; keep means as the producer sent them.
func (c *Config) codec() (codec record.Codec, level int, keep bool) {
	switch c.CompressionType {
	case "", "producer":
		return record.None, 0, true
	case "gzip":
		return record.Gzip, c.GzipLevel, false
	case "snappy":
		return record.Snappy, 0, false
	case "lz4":
		return record.LZ4, c.LZ4Level, false
	case "zstd":
		return record.Zstd, c.ZstdLevel, false
	default:
		return record.None, 0, false
	}
}

// maxSegmentMs is the age at which a segment is rolled: compaction that must happen in time needs it sealed in time.
func (c *Config) maxSegmentMs() int64 {
	if c.CleanupCompact && c.MaxCompactionLagMs > 0 {
		return min(c.MaxCompactionLagMs, c.SegmentMs)
	}
	return c.SegmentMs
}
