package streams

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/stored"
)

// Topology is what an application reads, writes and keeps, as its members tell it (record type 23): subtopologies,
// each of which is run as tasks.
type Topology struct {
	Epoch int32
	value *stored.StreamsGroupTopologyValue
	// byID are its subtopologies; sources maps the topics that are read to the subtopology that reads them, required
	// has these and the changelogs.
	byID     map[string]*stored.StreamsGroupTopologyValueSubtopology
	sources  map[string]string
	required map[string]struct{}
}

// topologyOf takes a topology from its record's value. Subtopologies of one id, and negative epochs, are an error
// that Kafka stumbles over.
func topologyOf(v *stored.StreamsGroupTopologyValue) (*Topology, *kerr.Error) {
	t := &Topology{
		Epoch: v.Epoch, value: v,
		byID: map[string]*stored.StreamsGroupTopologyValueSubtopology{}, sources: map[string]string{}, required: map[string]struct{}{},
	}
	for i := range v.Subtopologies {
		s := &v.Subtopologies[i]
		if t.byID[s.SubtopologyID] != nil {
			return nil, kerr.UnknownServerError
		}
		t.byID[s.SubtopologyID] = s
		for _, topic := range sourcesOf(s) {
			t.sources[topic] = s.SubtopologyID
			t.required[topic] = struct{}{}
		}
		for _, c := range s.StateChangelogTopics {
			t.required[c.Name] = struct{}{}
		}
	}
	if t.Epoch < 0 {
		return nil, kerr.UnknownServerError
	}
	return t, nil
}

// sourcesOf are the topics that a subtopology reads, those it makes itself included.
func sourcesOf(s *stored.StreamsGroupTopologyValueSubtopology) []string {
	out := slices.Clone(s.SourceTopics)
	for _, r := range s.RepartitionSourceTopics {
		out = append(out, r.Name)
	}
	return out
}

// equal compares epoch and subtopologies, whose order does not count.
func (t *Topology) equal(o *Topology) bool {
	return t.Epoch == o.Epoch && maps.EqualFunc(t.byID, o.byID, func(a, b *stored.StreamsGroupTopologyValueSubtopology) bool {
		return bytes.Equal(a.AppendTo(nil, 0), b.AppendTo(nil, 0))
	})
}

// ids are the ids of the subtopologies, in order.
func (t *Topology) ids() []string { return slices.Sorted(maps.Keys(t.byID)) }

// CheckTopology checks what can be checked without the group. Sources are named and not matched, and who asks leaves
// the partitions of changelogs open: they follow from what is read.
func CheckTopology(t *kmsg.StreamsGroupHeartbeatRequestTopology) *kerr.Error {
	for i := range t.Subtopologies {
		if len(t.Subtopologies[i].SourceTopicRegex) > 0 {
			return kerr.InvalidRequest
		}
	}
	for i := range t.Subtopologies {
		for _, c := range t.Subtopologies[i].StateChangelogTopics {
			if c.NumPartitions != 0 {
				return kerr.StreamsInvalidTopology
			}
		}
	}
	return nil
}

// valueOf is the record's value of a topology in a request. Requests lend their strings, so they are copied.
func valueOf(t *kmsg.StreamsGroupHeartbeatRequestTopology) *stored.StreamsGroupTopologyValue {
	v := stored.NewStreamsGroupTopologyValue()
	v.Epoch = t.Epoch
	for _, s := range t.Subtopologies {
		x := stored.NewStreamsGroupTopologyValueSubtopology()
		x.SubtopologyID = strings.Clone(s.SubtopologyID)
		x.SourceTopics, x.SourceTopicRegex, x.RepartitionSinkTopics = cloned(s.SourceTopics), cloned(s.SourceTopicRegex), cloned(s.RepartitionSinkTopics)
		x.StateChangelogTopics, x.RepartitionSourceTopics = infos(s.StateChangelogTopics), infos(s.RepartitionSourceTopics)
		for _, c := range s.CopartitionGroups {
			x.CopartitionGroups = append(x.CopartitionGroups, stored.StreamsGroupTopologyValueCopartitionGroup{
				SourceTopics: c.SourceTopics, SourceTopicRegex: c.SourceTopicRegex, RepartitionSourceTopics: c.RepartitionSourceTopics,
			})
		}
		v.Subtopologies = append(v.Subtopologies, x)
	}
	return &v
}

func cloned(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = strings.Clone(s)
	}
	return out
}

func infos(in []kmsg.TopicInfo) []stored.StreamsGroupTopologyValueTopicInfo {
	var out []stored.StreamsGroupTopologyValueTopicInfo
	for _, t := range in {
		x := stored.NewStreamsGroupTopologyValueTopicInfo()
		x.Name, x.Partitions, x.ReplicationFactor = strings.Clone(t.Topic), t.NumPartitions, t.ReplicationFactor
		for _, c := range t.Configs {
			x.TopicConfigs = append(x.TopicConfigs, stored.StreamsGroupTopologyValueTopicConfig{Key: strings.Clone(c.Key), Value: strings.Clone(c.Value)})
		}
		out = append(out, x)
	}
	return out
}
