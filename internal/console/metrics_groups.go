package console

import "github.com/prometheus/client_golang/prometheus"

// groupMetric is one count of the group coordinator.
type groupMetric struct {
	desc  *prometheus.Desc
	gauge bool
	of    func(GroupCounts) int64
}

// groupMetrics are those of Kafka's group-coordinator-metrics, with dashes as underscores.
func groupMetrics(desc func(name, help string, labels ...string) *prometheus.Desc) []groupMetric {
	return []groupMetric{
		{desc("num_offsets", "Committed offsets that are held."), true, func(c GroupCounts) int64 { return c.NumOffsets }},
		{desc("consumer_group_count", "Groups of the consumer protocol."), true, func(c GroupCounts) int64 { return c.ConsumerGroups }},
		{desc("offset_commit_count_total", "Offsets that were committed."), false, func(c GroupCounts) int64 { return c.OffsetCommits }},
		{desc("offset_expiration_count_total", "Offsets that expired."), false, func(c GroupCounts) int64 { return c.OffsetExpirations }},
		{desc("offset_deletion_count_total", "Offsets that were deleted on request."), false, func(c GroupCounts) int64 { return c.OffsetDeletions }},
		{desc("group_completed_rebalance_count_total", "Rebalances of classic groups that were completed."), false, func(c GroupCounts) int64 { return c.CompletedRebalances }},
		{desc("consumer_group_rebalance_count_total", "Times that a group of the consumer protocol got a new assignment."), false, func(c GroupCounts) int64 { return c.ConsumerGroupRebalances }},
	}
}
