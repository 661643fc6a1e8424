package streams

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/view"
)

// endpoints are where the instances answer queries, and the partitions that each has (EndpointToPartitionsManager of
// Kafka); never nil.
func (c *Change) endpoints(v view.View, live *Live) []kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpoint {
	out := []kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpoint{}
	if live.configured.Subtopologies == nil {
		return out
	}
	for _, m := range c.Group.sortedMembers() {
		if m.Endpoint == nil {
			continue
		}
		x := kmsg.NewStreamsGroupHeartbeatResponsePartitionsByUserEndpoint()
		x.UserEndpoint.Host, x.UserEndpoint.Port = m.Endpoint.Host, m.Endpoint.Port
		live.configured.partitions(v, m.Assigned.Active, func(topic string, partitions []int32) {
			x.ActivePartitions = append(x.ActivePartitions, kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpointActivePartition{Topic: topic, Partitions: partitions})
		})
		live.configured.partitions(v, m.Assigned.Standby.union(m.Assigned.Warmup), func(topic string, partitions []int32) {
			x.StandbyPartitions = append(x.StandbyPartitions, kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpointStandbyPartition{Topic: topic, Partitions: partitions})
		})
		out = append(out, x)
	}
	return out
}

// partitions calls f for every topic that tasks read, in order, with its partitions. Not every topic has one for each task.
func (c *Configured) partitions(v view.View, t Tasks, f func(topic string, partitions []int32)) {
	t.Subtopologies(func(id string, numbers, _ []int32) {
		s := c.Subtopologies[id]
		if s == nil {
			return
		}
		sources := slices.Sorted(maps.Keys(s.Repartition))
		sources = append(sources, s.Sources...)
		slices.Sort(sources)
		for _, topic := range slices.Compact(sources) {
			found := v.Topic(topic)
			if found == nil {
				continue
			}
			exist := slices.DeleteFunc(slices.Clone(numbers), func(n int32) bool { return int(n) >= len(found.Partitions) })
			if len(exist) > 0 {
				f(topic, exist)
			}
		}
	})
}
