package streams

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/internal/stored"
)

type storedSubtopology = stored.StreamsGroupTopologyValueSubtopology

// sizing works out how many partitions the repartition topics of a topology need: what the topology says, else the most
// that a source of a subtopology has which writes the topic.
type sizing struct {
	topology *Topology
	view     view.View
	// said are the numbers of partitions that the topology says, of every repartition topic; 0 where it does not.
	said map[string]int32
	// sizes are the numbers of repartition topics as far as they are known.
	sizes map[string]int32
}

// newSizing returns a sizing that knows the size of every repartition topic. The error is about a subtopology that reads
// nothing, or a topic whose number nobody can tell.
func newSizing(t *Topology, v view.View) (*sizing, *kerr.Error) {
	z := &sizing{t, v, map[string]int32{}, map[string]int32{}}
	for _, s := range t.byID {
		if len(sourcesOf(s)) == 0 {
			return nil, kerr.StreamsInvalidTopology
		}
		for _, r := range s.RepartitionSourceTopics {
			z.said[r.Name] = max(z.said[r.Name], r.Partitions)
		}
	}
	maps.Copy(z.sizes, z.said)
	z.spread()
	for topic := range z.said {
		if z.sizes[topic] < 1 {
			return nil, kerr.StreamsInvalidTopology
		}
	}
	return z, nil
}

// spread carries sizes from what subtopologies read to what they write, until none grows. It comes to an end also where
// subtopologies feed each other in a circle: no size exceeds that of the largest source.
func (z *sizing) spread() {
	readers := map[string][]*storedSubtopology{}
	var look []*storedSubtopology
	for _, s := range z.topology.byID {
		look = append(look, s)
		for _, r := range s.RepartitionSourceTopics {
			readers[r.Name] = append(readers[r.Name], s)
		}
	}
	for len(look) > 0 {
		s := look[0]
		look = look[1:]
		n := z.most(s)
		for _, topic := range s.RepartitionSinkTopics {
			if said, internal := z.said[topic]; internal && said == 0 && z.sizes[topic] < n {
				z.sizes[topic] = n
				look = append(look, readers[topic]...)
			}
		}
	}
}

// size is the number of partitions of a topic; 0 if it is not known.
func (z *sizing) size(topic string) int32 {
	if n, internal := z.sizes[topic]; internal {
		return n
	}
	if t := z.view.Topic(topic); t != nil {
		return int32(len(t.Partitions))
	}
	return 0
}

// most is the size of the largest source of a subtopology: how many tasks it has.
func (z *sizing) most(s *storedSubtopology) (n int32) {
	for _, topic := range sourcesOf(s) {
		n = max(n, z.size(topic))
	}
	return n
}

// alignAll gives topics that are read together the same size. The status tells of some that cannot have it.
func (z *sizing) alignAll() (*Status, *kerr.Error) {
	for _, id := range z.topology.ids() {
		s := z.topology.byID[id]
		for _, g := range s.CopartitionGroups {
			topics, ok := named(s, g)
			if !ok {
				return nil, kerr.StreamsInvalidTopology
			}
			if status := z.align(topics); status != nil {
				return status, nil
			}
		}
	}
	return nil, nil
}

// named are the topics of a group, which refers to them by their places, in order; false if a place is none.
func named(s *storedSubtopology, g stored.StreamsGroupTopologyValueCopartitionGroup) (topics []string, ok bool) {
	for _, i := range g.SourceTopics {
		if i < 0 || int(i) >= len(s.SourceTopics) {
			return nil, false
		}
		topics = append(topics, s.SourceTopics[i])
	}
	for _, i := range g.RepartitionSourceTopics {
		if i < 0 || int(i) >= len(s.RepartitionSourceTopics) {
			return nil, false
		}
		topics = append(topics, s.RepartitionSourceTopics[i].Name)
	}
	return sorted(topics), true
}

// align gives the topics of one group the same size: that of those that exist already whatever the application does;
// else the one that the topology says for some of them; else the largest.
func (z *sizing) align(topics []string) *Status {
	external := func(topic string) bool { _, internal := z.said[topic]; return !internal }
	said := func(topic string) bool { return z.said[topic] > 0 }
	size := int32(0)
	switch {
	case slices.ContainsFunc(topics, external):
		size = z.size(topics[slices.IndexFunc(topics, external)])
	case slices.ContainsFunc(topics, said):
		size = z.size(topics[slices.IndexFunc(topics, said)])
	default:
		for _, topic := range topics {
			size = max(size, z.size(topic))
		}
	}
	for _, topic := range topics {
		if (external(topic) || said(topic)) && z.size(topic) != size {
			return &Status{incorrectlyPartitioned, "topics that are read together differ in their number of partitions: " + z.list(topics)}
		}
	}
	for _, topic := range topics {
		if !external(topic) {
			z.sizes[topic] = size
		}
	}
	return nil
}

// list names topics with their sizes.
func (z *sizing) list(topics []string) string {
	var out []string
	for _, topic := range topics {
		out = append(out, fmt.Sprintf("%s (%d)", topic, z.size(topic)))
	}
	return strings.Join(out, ", ")
}
