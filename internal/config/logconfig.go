package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// TopicConfig returns what a log of a topic with these configs goes by.
func (l Layers) TopicConfig(overrides map[string]string) storage.Config {
	num := func(key string) int64 { return l.topicValue(key, overrides).Int }
	policy := l.topicValue("cleanup.policy", overrides).List
	segment := num("segment.bytes")
	if v := l.topicValue("internal.segment.bytes", overrides); v.Int > 0 {
		segment = v.Int // unchecked by Kafka; nothing useful below one
	}
	c := storage.DefaultConfig()
	c.SegmentBytes = int(segment)
	c.SegmentMs, c.SegmentJitterMs = num("segment.ms"), num("segment.jitter.ms")
	c.RetentionBytes, c.RetentionMs = num("retention.bytes"), num("retention.ms")
	c.IndexIntervalBytes, c.SegmentIndexBytes = int(num("index.interval.bytes")), int(num("segment.index.bytes"))
	c.FlushMessages, c.FlushMs = num("flush.messages"), num("flush.ms")
	c.MaxMessageBytes, c.MaxDecompressedMessageBytes = int(num("max.message.bytes")), int(num("max.decompressed.message.bytes"))
	c.CleanupCompact, c.CleanupDelete = slices.Contains(policy, "compact"), slices.Contains(policy, "delete")
	c.CompressionType = l.topicValue("compression.type", overrides).Text
	c.GzipLevel, c.LZ4Level, c.ZstdLevel = int(num("compression.gzip.level")), int(num("compression.lz4.level")), int(num("compression.zstd.level"))
	c.TimestampType = record.CreateTime
	if l.topicValue("message.timestamp.type", overrides).Text == "LogAppendTime" {
		c.TimestampType = record.LogAppendTime
	}
	c.TimestampBeforeMaxMs, c.TimestampAfterMaxMs = num("message.timestamp.before.max.ms"), num("message.timestamp.after.max.ms")
	c.FileDeleteDelayMs, c.DeleteRetentionMs = num("file.delete.delay.ms"), num("delete.retention.ms")
	c.MinCompactionLagMs, c.MaxCompactionLagMs = num("min.compaction.lag.ms"), num("max.compaction.lag.ms")
	c.MinCleanableDirtyRatio = l.topicValue("min.cleanable.dirty.ratio", overrides).Float
	c.MinInsyncReplicas = int(num("min.insync.replicas"))
	c.Preallocate = l.topicValue("preallocate", overrides).Bool
	c.UncleanLeaderElection = l.topicValue("unclean.leader.election.enable", overrides).Bool
	return c
}

// TopicWarnings tells what is accepted but is rarely meant: a person who sets it should hear of it once.
func TopicWarnings(l Layers, topic string, overrides map[string]string) []Warning {
	c := l.TopicConfig(overrides)
	var out []Warning
	if c.CleanupDelete && c.RetentionMs >= 0 && c.RetentionMs < c.SegmentMs {
		out = append(out, Warning{"retention.ms", fmt.Sprintf(
			"%s: retention.ms (%d) is less than segment.ms (%d): an active segment is rolled early once all of its records are that old", topic, c.RetentionMs, c.SegmentMs)})
	}
	if c.CleanupDelete && c.RetentionBytes >= 0 && c.RetentionBytes < int64(c.SegmentBytes) {
		out = append(out, Warning{"retention.bytes", fmt.Sprintf(
			"%s: retention.bytes (%d) is less than segment.bytes (%d): only whole segments are deleted, so more is kept", topic, c.RetentionBytes, c.SegmentBytes)})
	}
	if strings.HasPrefix(topic, "_") && c.CleanupCompact && c.CleanupDelete {
		out = append(out, Warning{"cleanup.policy", fmt.Sprintf(
			"%s: cleanup.policy has delete beside compact: whoever keeps state in this topic may lose what is older than retention.ms (%d)", topic, c.RetentionMs)})
	}
	return out
}
