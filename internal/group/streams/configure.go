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

// MissingInternalTopics is the status of a group whose internal topics do not exist yet.
const MissingInternalTopics = 3

// The other statuses that an answer may tell, by their numbers in the protocol.
const (
	staleTopology          = 0
	missingSourceTopics    = 1
	incorrectlyPartitioned = 2
	shutdownApplication    = 4
	assignmentDelayed      = 5
	missingClientTags      = 6
)

// Status is something that the members should know of the group.
type Status struct {
	Code   int8
	Detail string
}

// InternalTopic is a topic that the application needs and that is made for it.
type InternalTopic struct {
	Name       string
	Partitions int32
	// ReplicationFactor is 0 for the broker's default.
	ReplicationFactor int16
	Configs           map[string]string
}

// Subtopology is one part of a topology as the present topics make it.
type Subtopology struct {
	ID string
	// Tasks is how many there are: the most partitions that a source has.
	Tasks int32
	// Sources and Sinks are in order.
	Sources, Sinks          []string
	Repartition, Changelogs map[string]InternalTopic
}

// stateful reports whether its tasks keep something.
func (s *Subtopology) stateful() bool { return len(s.Changelogs) > 0 }

// Configured is a topology as the present topics make it.
type Configured struct {
	// Subtopologies are by id; nil when Status is about something else than missing internal topics.
	Subtopologies map[string]*Subtopology
	// Missing are the internal topics to be created, by name.
	Missing []InternalTopic
	// Status says why no tasks can be assigned; nil if they can (STREAMS-7).
	Status *Status
}

func (c *Configured) ready() bool { return c.Status == nil }

func (c *Configured) ids() []string { return slices.Sorted(maps.Keys(c.Subtopologies)) }

// configuring is the work of Configure: counts of topics that do not exist yet are decided one by one.
type configuring struct {
	topology *Topology
	view     view.View
	decided  map[string]int32
}

// Configure works out the numbers of partitions of internal topics and of tasks (InternalTopicManager of Kafka). The
// error is about a topology that cannot work, whatever topics there are.
func (t *Topology) Configure(v view.View) (*Configured, *kerr.Error) {
	c := &configuring{t, v, map[string]int32{}}
	if s := c.missingSources(); s != nil {
		return &Configured{Status: s}, nil
	}
	if e := c.countRepartition(); e != nil {
		return nil, e
	}
	if s, e := c.enforceCopartitioning(); s != nil || e != nil {
		return &Configured{Status: s}, e
	}
	if e := c.countChangelogs(); e != nil {
		return nil, e
	}
	out := &Configured{Subtopologies: map[string]*Subtopology{}}
	for _, id := range t.ids() {
		s, e := c.subtopology(t.byID[id])
		if e != nil {
			return nil, e
		}
		out.Subtopologies[id] = s
	}
	if s := c.missingInternal(out); s != nil {
		return &Configured{Status: s}, nil
	}
	return out, nil
}

// count is the number of partitions of a topic: the real one if it exists, else what was decided.
func (c *configuring) count(topic string) (int32, bool) {
	if t := c.view.Topic(topic); t != nil {
		return int32(len(t.Partitions)), true
	}
	n, ok := c.decided[topic]
	return n, ok
}

func (c *configuring) missingSources() *Status {
	missing := map[string]struct{}{}
	for _, s := range c.topology.byID {
		for _, topic := range s.SourceTopics {
			if c.view.Topic(topic) == nil {
				missing[topic] = struct{}{}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &Status{missingSourceTopics, "these source topics do not exist: " + summary(slices.Sorted(maps.Keys(missing)))}
}

// summary names three topics and the number of the others.
func summary(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// countRepartition decides the partitions of repartition topics: those that the topology sets, else the most that a
// source of the subtopology that writes the topic has.
func (c *configuring) countRepartition() *kerr.Error {
	ids := c.topology.ids()
	counts := map[string]int32{}
	for _, id := range ids {
		for _, r := range c.topology.byID[id].RepartitionSourceTopics {
			if r.Partitions != 0 {
				counts[r.Name] = r.Partitions
			}
		}
	}
	for more := true; more; {
		more = false
		progress := false
		for _, id := range ids {
			s := c.topology.byID[id]
			for _, sink := range s.RepartitionSinkTopics {
				if _, known := counts[sink]; known {
					continue
				}
				if n, ok := c.mostOf(s, counts); ok {
					counts[sink], progress = n, true
				} else {
					more = true
				}
			}
		}
		if more && !progress {
			return kerr.StreamsInvalidTopology // a loop
		}
	}
	for _, id := range ids {
		for _, r := range c.topology.byID[id].RepartitionSourceTopics {
			if _, known := counts[r.Name]; !known {
				return kerr.StreamsInvalidTopology // nobody writes it
			}
		}
	}
	maps.Copy(c.decided, counts)
	return nil
}

func (c *configuring) mostOf(s *stored.StreamsGroupTopologyValueSubtopology, counts map[string]int32) (most int32, ok bool) {
	for _, r := range s.RepartitionSourceTopics {
		if n, known := counts[r.Name]; known {
			most, ok = max(most, n), true
		}
	}
	for _, topic := range s.SourceTopics {
		if n, known := c.count(topic); known {
			most, ok = max(most, n), true
		}
	}
	return most, ok
}

// countChangelogs gives changelogs as many partitions as their subtopology has tasks.
func (c *configuring) countChangelogs() *kerr.Error {
	for _, id := range c.topology.ids() {
		s := c.topology.byID[id]
		n, e := c.tasks(s)
		if e != nil {
			return e
		}
		for _, x := range s.StateChangelogTopics {
			c.decided[x.Name] = n
		}
	}
	return nil
}

// tasks is how many tasks a subtopology has.
func (c *configuring) tasks(s *stored.StreamsGroupTopologyValueSubtopology) (int32, *kerr.Error) {
	sources := sourcesOf(s)
	if len(sources) == 0 {
		return 0, kerr.StreamsInvalidTopology
	}
	most := int32(0)
	for _, topic := range sources {
		n, ok := c.count(topic)
		if !ok {
			return 0, kerr.UnknownServerError
		}
		most = max(most, n)
	}
	return most, nil
}

func (c *configuring) subtopology(s *stored.StreamsGroupTopologyValueSubtopology) (*Subtopology, *kerr.Error) {
	n, e := c.tasks(s)
	if e == nil && n < 1 {
		e = kerr.UnknownServerError
	}
	if e != nil {
		return nil, e
	}
	out := &Subtopology{ID: s.SubtopologyID, Tasks: n, Sources: sorted(s.SourceTopics), Sinks: sorted(s.RepartitionSinkTopics)}
	if out.Repartition, e = c.internal(s.RepartitionSourceTopics); e != nil {
		return nil, e
	}
	out.Changelogs, e = c.internal(s.StateChangelogTopics)
	return out, e
}

func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *configuring) internal(topics []stored.StreamsGroupTopologyValueTopicInfo) (map[string]InternalTopic, *kerr.Error) {
	out := map[string]InternalTopic{}
	for _, t := range topics {
		x := InternalTopic{Name: t.Name, Partitions: t.Partitions, ReplicationFactor: t.ReplicationFactor, Configs: map[string]string{}}
		if x.Partitions == 0 {
			x.Partitions = c.decided[t.Name]
		}
		if x.Partitions < 1 {
			return nil, kerr.UnknownServerError
		}
		for _, s := range t.TopicConfigs {
			x.Configs[s.Key] = s.Value
		}
		out[t.Name] = x
	}
	return out, nil
}

// missingInternal notes which internal topics do not exist. Those that do must have the right number of partitions.
func (c *configuring) missingInternal(out *Configured) *Status {
	var names []string
	internal := map[string]InternalTopic{}
	for _, s := range out.Subtopologies {
		maps.Copy(internal, s.Repartition)
		maps.Copy(internal, s.Changelogs)
	}
	for _, name := range slices.Sorted(maps.Keys(internal)) {
		switch t := c.view.Topic(name); {
		case t == nil:
			out.Missing, names = append(out.Missing, internal[name]), append(names, name)
		case len(t.Partitions) != int(internal[name].Partitions):
			return &Status{incorrectlyPartitioned, fmt.Sprintf("topic %s has %d partitions, the application needs %d",
				name, len(t.Partitions), internal[name].Partitions)}
		}
	}
	if len(names) > 0 {
		out.Status = &Status{MissingInternalTopics, "these internal topics do not exist yet: " + summary(names)}
	}
	return nil
}
