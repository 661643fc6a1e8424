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
	for _, m := range c.Group.InOrder() {
		if m.Endpoint == nil {
			continue
		}
		x := kmsg.NewStreamsGroupHeartbeatResponsePartitionsByUserEndpoint()
		x.UserEndpoint.Host, x.UserEndpoint.Port = m.Endpoint.Host, m.Endpoint.Port
		live.configured.partitions(v, m.Assigned.portions(Active), func(topic string, partitions []int32) {
			x.ActivePartitions = append(x.ActivePartitions, kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpointActivePartition{Topic: topic, Partitions: partitions})
		})
		live.configured.partitions(v, m.Assigned.copies(), func(topic string, partitions []int32) {
			x.StandbyPartitions = append(x.StandbyPartitions, kmsg.StreamsGroupHeartbeatResponsePartitionsByUserEndpointStandbyPartition{Topic: topic, Partitions: partitions})
		})
		out = append(out, x)
	}
	return out
}

// copies are the tasks that a member has a copy of, of either kind.
func (a Assignment) copies() []portion {
	all := Assignment{}
	for s := range a {
		if s.Role != Active {
			all[slot{Standby, s.task}] = 0
		}
	}
	return all.portions(Standby)
}

// partitions calls f for every topic that tasks read, in order, with its partitions. Not every topic has one for each task.
func (c *Configured) partitions(v view.View, tasks []portion, f func(topic string, partitions []int32)) {
	for _, p := range tasks {
		s := c.Subtopologies[p.subtopology]
		if s == nil {
			continue
		}
		sources := slices.Sorted(maps.Keys(s.Repartition))
		sources = append(sources, s.Sources...)
		slices.Sort(sources)
		for _, topic := range slices.Compact(sources) {
			found := v.Topic(topic)
			if found == nil {
				continue
			}
			exist := slices.DeleteFunc(slices.Clone(p.numbers), func(n int32) bool { return int(n) >= len(found.Partitions) })
			if len(exist) > 0 {
				f(topic, exist)
			}
		}
	}
}
