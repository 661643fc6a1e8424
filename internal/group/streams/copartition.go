package streams

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/stored"
)

// enforceCopartitioning gives topics that are read together the same number of partitions. Where external topics are
// among them, theirs decides; else that of repartition topics for which the topology sets one, else the largest.
func (c *configuring) enforceCopartitioning() (*Status, *kerr.Error) {
	fixed, flexible := c.repartitionTopics()
	for _, id := range c.topology.ids() {
		s := c.topology.byID[id]
		for _, g := range s.CopartitionGroups {
			topics, ok := named(s, g)
			if !ok {
				return nil, kerr.UnknownServerError
			}
			if len(topics) == 0 {
				continue
			}
			if status, e := c.copartition(topics, fixed, flexible); status != nil || e != nil {
				return status, e
			}
		}
	}
	return nil, nil
}

// repartitionTopics are those of the whole topology: with a number of partitions, and without.
func (c *configuring) repartitionTopics() (fixed, flexible map[string]bool) {
	fixed, flexible = map[string]bool{}, map[string]bool{}
	for _, s := range c.topology.byID {
		for _, r := range s.RepartitionSourceTopics {
			if r.Partitions != 0 {
				fixed[r.Name] = true
			} else {
				flexible[r.Name] = true
			}
		}
	}
	return fixed, flexible
}

// named are the topics of a group, which refers to them by their places; false if a place is none.
func named(s *stored.StreamsGroupTopologyValueSubtopology, g stored.StreamsGroupTopologyValueCopartitionGroup) (map[string]bool, bool) {
	out := map[string]bool{}
	for _, i := range g.SourceTopics {
		if i < 0 || int(i) >= len(s.SourceTopics) {
			return nil, false
		}
		out[s.SourceTopics[i]] = true
	}
	for _, i := range g.RepartitionSourceTopics {
		if i < 0 || int(i) >= len(s.RepartitionSourceTopics) {
			return nil, false
		}
		out[s.RepartitionSourceTopics[i].Name] = true
	}
	return out, true
}

func (c *configuring) copartition(topics, fixed, flexible map[string]bool) (*Status, *kerr.Error) {
	repartition, external := map[string]int32{}, map[string]int32{}
	for topic := range topics {
		n, ok := c.count(topic)
		switch {
		case !ok:
			return nil, kerr.UnknownServerError
		case fixed[topic], flexible[topic]:
			repartition[topic] = n
		default:
			external[topic] = n
		}
	}
	n, status := c.common(repartition, external, fixed)
	if status != nil {
		return status, nil
	}
	if n == 0 {
		return nil, kerr.StreamsInvalidTopology
	}
	for _, topic := range slices.Sorted(maps.Keys(repartition)) {
		if fixed[topic] && repartition[topic] != n {
			return &Status{incorrectlyPartitioned, fmt.Sprintf(
				"repartition topic %s has %d partitions, the topics that it is read together with have %d", topic, repartition[topic], n)}, nil
		}
		c.decided[topic] = n
	}
	return nil, nil
}

// common is the number of partitions for all of a group. As in Kafka, where a group has repartition topics alone, all
// topics of the topology that set a number must agree.
func (c *configuring) common(repartition, external map[string]int32, fixed map[string]bool) (int32, *Status) {
	switch {
	case len(external) > 0:
		return same(external, external)
	case len(fixed) > 0:
		counts := map[string]int32{}
		for topic := range fixed {
			counts[topic], _ = c.count(topic)
		}
		return same(counts, repartition)
	}
	most := int32(0)
	for _, n := range repartition {
		most = max(most, n)
	}
	return most, nil
}

// same is the number that all have; a status that names the topics in shown if they have not.
func same(counts, shown map[string]int32) (int32, *Status) {
	names := slices.Sorted(maps.Keys(counts))
	first := counts[names[0]]
	for _, name := range names {
		if counts[name] != first {
			var list []string
			for _, t := range slices.Sorted(maps.Keys(shown)) {
				list = append(list, fmt.Sprintf("%s (%d)", t, shown[t]))
			}
			return 0, &Status{incorrectlyPartitioned, "topics that are read together differ in their number of partitions: " + strings.Join(list, ", ")}
		}
	}
	return first, nil
}
