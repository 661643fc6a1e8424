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
	Sources, Sinks []string
	// Repartition and Changelogs are by name; a subtopology with changelogs keeps state.
	Repartition, Changelogs map[string]InternalTopic
}

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

// Configure works out the numbers of partitions of internal topics and of tasks. The error is about a topology that
// cannot work, whatever topics there are.
func (t *Topology) Configure(v view.View) (*Configured, *kerr.Error) {
	if missing := t.missingSources(v); len(missing) > 0 {
		return &Configured{Status: &Status{missingSourceTopics, "these source topics do not exist: " + summary(missing)}}, nil
	}
	z, e := newSizing(t, v)
	if e != nil {
		return nil, e
	}
	if s, e := z.alignAll(); s != nil || e != nil {
		return &Configured{Status: s}, e
	}
	out := &Configured{Subtopologies: map[string]*Subtopology{}}
	for _, id := range t.ids() {
		out.Subtopologies[id] = z.subtopology(t.byID[id])
	}
	if s := out.compare(v); s != nil {
		return &Configured{Status: s}, nil
	}
	if len(out.Missing) > 0 {
		var names []string
		for _, x := range out.Missing {
			names = append(names, x.Name)
		}
		out.Status = &Status{MissingInternalTopics, "these internal topics do not exist yet: " + summary(names)}
	}
	return out, nil
}

func (t *Topology) missingSources(v view.View) (names []string) {
	for _, s := range t.byID {
		for _, topic := range s.SourceTopics {
			if v.Topic(topic) == nil {
				names = append(names, topic)
			}
		}
	}
	return sorted(names)
}

// summary names three topics and the number of the others.
func summary(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// sorted puts names in order, each once.
func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// subtopology is one part, once all sizes are known.
func (z *sizing) subtopology(s *stored.StreamsGroupTopologyValueSubtopology) *Subtopology {
	tasks := z.most(s)
	out := &Subtopology{
		ID: s.SubtopologyID, Tasks: tasks, Sources: sorted(s.SourceTopics), Sinks: sorted(s.RepartitionSinkTopics),
		Repartition: map[string]InternalTopic{}, Changelogs: map[string]InternalTopic{},
	}
	for _, t := range s.RepartitionSourceTopics {
		out.Repartition[t.Name] = internalTopic(t, z.size(t.Name))
	}
	for _, t := range s.StateChangelogTopics {
		out.Changelogs[t.Name] = internalTopic(t, tasks)
	}
	return out
}

func internalTopic(t stored.StreamsGroupTopologyValueTopicInfo, partitions int32) InternalTopic {
	x := InternalTopic{Name: t.Name, Partitions: partitions, ReplicationFactor: t.ReplicationFactor, Configs: map[string]string{}}
	for _, s := range t.TopicConfigs {
		x.Configs[s.Key] = s.Value
	}
	return x
}

// compare notes which internal topics do not exist. Those that do must have the right number of partitions.
func (c *Configured) compare(v view.View) *Status {
	needed := map[string]InternalTopic{}
	for _, s := range c.Subtopologies {
		maps.Copy(needed, s.Repartition)
		maps.Copy(needed, s.Changelogs)
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		switch t := v.Topic(name); {
		case t == nil:
			c.Missing = append(c.Missing, needed[name])
		case len(t.Partitions) != int(needed[name].Partitions):
			return &Status{incorrectlyPartitioned, fmt.Sprintf("topic %s has %d partitions, the application needs %d",
				name, len(t.Partitions), needed[name].Partitions)}
		}
	}
	return nil
}
