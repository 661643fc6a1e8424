package streams

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/stored"
)

type (
	describedGroup       = kmsg.StreamsGroupDescribeResponseGroup
	describedMember      = kmsg.StreamsGroupDescribeResponseGroupMember
	describedSubtopology = kmsg.StreamsGroupDescribeResponseGroupTopologySubtopology
)

// Describe shows the group. Of its topology it shows the partitions that internal topics have, once they are there.
func (g *Group) Describe(live *Live) describedGroup {
	d := kmsg.NewStreamsGroupDescribeResponseGroup()
	assignor := AssignorName
	d.Group, d.State, d.Epoch, d.AssignmentEpoch, d.AssignorName = g.ID, g.State(), g.Epoch, g.AssignmentEpoch, &assignor
	if g.Topology != nil {
		d.Topology = g.describeTopology(live)
	}
	for _, m := range g.InOrder() {
		d.Members = append(d.Members, m.describe(g.Targets[m.ID], live.offsets[m.ID]))
	}
	return d
}

func (g *Group) describeTopology(live *Live) *kmsg.StreamsGroupDescribeResponseGroupTopology {
	t := kmsg.NewStreamsGroupDescribeResponseGroupTopology()
	t.Epoch, t.Subtopologies = g.Topology.Epoch, []describedSubtopology{}
	ready := live.configured != nil && live.configured.ready()
	for _, id := range g.Topology.ids() {
		if ready {
			t.Subtopologies = append(t.Subtopologies, live.configured.Subtopologies[id].describe())
		} else {
			t.Subtopologies = append(t.Subtopologies, describeSaid(g.Topology.byID[id]))
		}
	}
	return &t
}

func (s *Subtopology) describe() describedSubtopology {
	infos := func(topics map[string]InternalTopic) (out []kmsg.TopicInfo) {
		for _, name := range slices.Sorted(maps.Keys(topics)) {
			t := topics[name]
			x := kmsg.TopicInfo{Topic: name, NumPartitions: t.Partitions, ReplicationFactor: t.ReplicationFactor}
			for _, k := range slices.Sorted(maps.Keys(t.Configs)) {
				x.Configs = append(x.Configs, kmsg.TopicInfoConfig{Key: k, Value: t.Configs[k]})
			}
			out = append(out, x)
		}
		return out
	}
	return describedSubtopology{
		SubtopologyID: s.ID, SourceTopics: s.Sources, RepartitionSinkTopics: s.Sinks,
		StateChangelogTopics: infos(s.Changelogs), RepartitionSourceTopics: infos(s.Repartition),
	}
}

// describeSaid shows a subtopology as the members told it.
func describeSaid(s *stored.StreamsGroupTopologyValueSubtopology) describedSubtopology {
	infos := func(topics []stored.StreamsGroupTopologyValueTopicInfo) (out []kmsg.TopicInfo) {
		for _, t := range topics {
			x := kmsg.TopicInfo{Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: t.ReplicationFactor}
			for _, c := range t.TopicConfigs {
				x.Configs = append(x.Configs, kmsg.TopicInfoConfig{Key: c.Key, Value: c.Value})
			}
			out = append(out, x)
		}
		slices.SortFunc(out, func(a, b kmsg.TopicInfo) int { return strings.Compare(a.Topic, b.Topic) })
		return out
	}
	return describedSubtopology{
		SubtopologyID: s.SubtopologyID, SourceTopics: slices.Sorted(slices.Values(s.SourceTopics)), RepartitionSinkTopics: slices.Sorted(slices.Values(s.RepartitionSinkTopics)),
		StateChangelogTopics: infos(s.StateChangelogTopics), RepartitionSourceTopics: infos(s.RepartitionSourceTopics),
	}
}

func (m *Member) describe(target Assignment, o Offsets) describedMember {
	x := kmsg.NewStreamsGroupDescribeResponseGroupMember()
	x.MemberID, x.MemberEpoch, x.InstanceID, x.RackID = m.ID, m.Epoch, m.InstanceID, m.RackID
	x.ClientID, x.ClientHost, x.TopologyEpoch, x.ProcessID = m.ClientID, m.ClientHost, m.TopologyEpoch, m.ProcessID
	if m.Endpoint != nil {
		x.UserEndpoint = &kmsg.StreamsGroupDescribeResponseGroupMemberUserEndpoint{Host: m.Endpoint.Host, Port: m.Endpoint.Port}
	}
	for _, k := range slices.Sorted(maps.Keys(m.Tags)) {
		x.ClientTags = append(x.ClientTags, kmsg.StreamsGroupDescribeResponseGroupMemberClientTag{Key: k, Value: m.Tags[k]})
	}
	x.TaskOffsets, x.TaskEndOffsets = described(o.at), described(o.end)
	x.Assignment, x.TargetAssignment = m.Assigned.describe(), target.describe()
	return x
}

func (a Assignment) describe() kmsg.StreamsAssignment {
	return kmsg.StreamsAssignment{ActiveTasks: a.Tasks(Active), StandbyTasks: a.Tasks(Standby), WarmupTasks: a.Tasks(Warmup)}
}

func described(offsets map[task]int64) (out []kmsg.TaskOffset) {
	for _, t := range slices.SortedFunc(maps.Keys(offsets), compareTasks) {
		out = append(out, kmsg.TaskOffset{SubtopologyID: t.subtopology, Partition: t.n, Offset: offsets[t]})
	}
	return out
}
