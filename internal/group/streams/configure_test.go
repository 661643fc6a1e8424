package streams

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
)

// sub describes a subtopology: "in:a,b repartition:r,s=4 sinks:t changelogs:c together:a+r". A number after = is one
// that the topology says.
func sub(id, text string) stored.StreamsGroupTopologyValueSubtopology {
	s := stored.NewStreamsGroupTopologyValueSubtopology()
	s.SubtopologyID = id
	infos := func(names []string) (out []stored.StreamsGroupTopologyValueTopicInfo) {
		for _, x := range names {
			t := stored.NewStreamsGroupTopologyValueTopicInfo()
			if n, _ := fmt.Sscanf(strings.Replace(x, "=", " ", 1), "%s %d", &t.Name, &t.Partitions); n == 0 {
				panic(x)
			}
			out = append(out, t)
		}
		return out
	}
	for _, part := range strings.Fields(text) {
		what, list, _ := strings.Cut(part, ":")
		names := strings.Split(list, ",")
		switch what {
		case "in":
			s.SourceTopics = names
		case "repartition":
			s.RepartitionSourceTopics = infos(names)
		case "sinks":
			s.RepartitionSinkTopics = names
		case "changelogs":
			s.StateChangelogTopics = infos(names)
		case "together":
			g := stored.NewStreamsGroupTopologyValueCopartitionGroup()
			for _, x := range strings.Split(list, "+") {
				if i := slices.Index(s.SourceTopics, x); i >= 0 {
					g.SourceTopics = append(g.SourceTopics, int16(i))
				} else {
					i := slices.IndexFunc(s.RepartitionSourceTopics, func(t stored.StreamsGroupTopologyValueTopicInfo) bool { return t.Name == x })
					g.RepartitionSourceTopics = append(g.RepartitionSourceTopics, int16(i))
				}
			}
			s.CopartitionGroups = append(s.CopartitionGroups, g)
		}
	}
	return s
}

func topologyFor(t testing.TB, subs ...stored.StreamsGroupTopologyValueSubtopology) *Topology {
	t.Helper()
	v := stored.NewStreamsGroupTopologyValue()
	v.Epoch, v.Subtopologies = 1, subs
	out, e := topologyOf(&v)
	if e != nil {
		t.Fatal(e)
	}
	return out
}

// topics are the present topics, with their numbers of partitions.
func topics(sizes map[string]int) view.View {
	var out table
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		out = append(out, &metadata.Topic{Name: name, Partitions: make([]*metadata.Partition, sizes[name])})
	}
	return view.View{Topics: out}
}

func TestConfigure(t *testing.T) {
	for _, x := range []struct {
		name string
		subs []string
		has  map[string]int
		// tasks by subtopology, missing topics with their partitions, the status or the error
		tasks   map[string]int32
		missing map[string]int32
		status  int8
		fails   *kerr.Error
	}{
		{
			name: "all is there", subs: []string{"in:a changelogs:c"}, has: map[string]int{"a": 3, "c": 3},
			tasks: map[string]int32{"0": 3}, status: -1,
		}, {
			name: "sources are missing", subs: []string{"in:a,b", "in:z"}, has: map[string]int{"b": 1}, status: missingSourceTopics,
		}, {
			name: "the largest source decides", subs: []string{"in:a,b changelogs:c sinks:r", "repartition:r changelogs:d"}, has: map[string]int{"a": 3, "b": 5},
			tasks: map[string]int32{"0": 5, "1": 5}, missing: map[string]int32{"c": 5, "d": 5, "r": 5}, status: MissingInternalTopics,
		}, {
			name: "a chain, told from its end", subs: []string{"repartition:s changelogs:d", "repartition:r sinks:s", "in:a sinks:r"}, has: map[string]int{"a": 4},
			tasks: map[string]int32{"0": 4, "1": 4, "2": 4}, missing: map[string]int32{"r": 4, "s": 4, "d": 4}, status: MissingInternalTopics,
		}, {
			name: "a number that the topology says", subs: []string{"in:a sinks:r", "repartition:r=7"}, has: map[string]int{"a": 4},
			tasks: map[string]int32{"0": 4, "1": 7}, missing: map[string]int32{"r": 7}, status: MissingInternalTopics,
		}, {
			name: "two writers", subs: []string{"in:a sinks:r", "in:b sinks:r", "repartition:r"}, has: map[string]int{"a": 2, "b": 6},
			tasks: map[string]int32{"0": 2, "1": 6, "2": 6}, missing: map[string]int32{"r": 6}, status: MissingInternalTopics,
		}, {
			name: "a circle with a way in", subs: []string{"in:a repartition:s sinks:r", "repartition:r sinks:s"}, has: map[string]int{"a": 3},
			tasks: map[string]int32{"0": 3, "1": 3}, missing: map[string]int32{"r": 3, "s": 3}, status: MissingInternalTopics,
		}, {
			name: "a circle without", subs: []string{"repartition:s sinks:r", "repartition:r sinks:s"}, fails: kerr.StreamsInvalidTopology,
		}, {
			name: "nobody writes it", subs: []string{"in:a", "repartition:r"}, has: map[string]int{"a": 3}, fails: kerr.StreamsInvalidTopology,
		}, {
			name: "nothing is read", subs: []string{"changelogs:c"}, fails: kerr.StreamsInvalidTopology,
		}, {
			name: "an internal topic of another size", subs: []string{"in:a changelogs:c"}, has: map[string]int{"a": 3, "c": 4}, status: incorrectlyPartitioned,
		}, {
			name: "read together with one that exists", subs: []string{"in:a sinks:r", "in:b repartition:r together:b+r"}, has: map[string]int{"a": 8, "b": 4},
			tasks: map[string]int32{"0": 8, "1": 4}, missing: map[string]int32{"r": 4}, status: MissingInternalTopics,
		}, {
			name: "two that exist differ", subs: []string{"in:a,b together:a+b"}, has: map[string]int{"a": 8, "b": 4}, status: incorrectlyPartitioned,
		}, {
			name: "said otherwise than one that exists", subs: []string{"in:a sinks:r", "in:b repartition:r=3 together:b+r"}, has: map[string]int{"a": 8, "b": 4},
			status: incorrectlyPartitioned,
		}, {
			name: "one says, the other follows", subs: []string{"in:a sinks:r,s", "repartition:r=3,s together:r+s"}, has: map[string]int{"a": 8},
			tasks: map[string]int32{"0": 8, "1": 3}, missing: map[string]int32{"r": 3, "s": 3}, status: MissingInternalTopics,
		}, {
			name: "two say different numbers", subs: []string{"in:a sinks:r,s", "repartition:r=3,s=5 together:r+s"}, has: map[string]int{"a": 8}, status: incorrectlyPartitioned,
		}, {
			name: "none says: the largest", subs: []string{"in:a sinks:r", "in:b sinks:s", "repartition:r,s together:r+s"}, has: map[string]int{"a": 2, "b": 5},
			tasks: map[string]int32{"0": 2, "1": 5, "2": 5}, missing: map[string]int32{"r": 5, "s": 5}, status: MissingInternalTopics,
		},
	} {
		var subs []stored.StreamsGroupTopologyValueSubtopology
		for i, text := range x.subs {
			subs = append(subs, sub(fmt.Sprint(i), text))
		}
		got, e := topologyFor(t, subs...).Configure(topics(x.has))
		if e != x.fails {
			t.Errorf("%s: %v, want %v", x.name, e, x.fails)
		}
		if e != nil || x.fails != nil {
			continue
		}
		status := int8(-1)
		if got.Status != nil {
			status = got.Status.Code
		}
		tasks, missing := map[string]int32{}, map[string]int32{}
		for id, s := range got.Subtopologies {
			tasks[id] = s.Tasks
		}
		for _, m := range got.Missing {
			missing[m.Name] = m.Partitions
		}
		if status != x.status || !maps.Equal(tasks, x.tasks) || !maps.Equal(missing, x.missing) {
			t.Errorf("%s: tasks %v, missing %v, status %v", x.name, tasks, missing, got.Status)
		}
	}
}

// A group of topics that names one which is not there is a broken topology.
func TestConfigureBrokenGroup(t *testing.T) {
	for _, at := range []int16{-1, 1} {
		for _, repartition := range []bool{false, true} {
			s := sub("0", "in:a")
			g := stored.NewStreamsGroupTopologyValueCopartitionGroup()
			if repartition {
				g.RepartitionSourceTopics = []int16{at}
			} else {
				g.SourceTopics = []int16{at}
			}
			s.CopartitionGroups = append(s.CopartitionGroups, g)
			if _, e := topologyFor(t, s).Configure(topics(map[string]int{"a": 1})); e != kerr.StreamsInvalidTopology {
				t.Errorf("topic %d: %v", at, e)
			}
		}
	}
}

// A status names three topics and counts the others.
func TestStatusNamesTopics(t *testing.T) {
	c, e := topologyFor(t, sub("0", "in:e,d,c,b,a")).Configure(view.View{})
	if e != nil || !strings.HasSuffix(c.Status.Detail, ": a, b, c and 2 more") {
		t.Errorf("%v, %v", c.Status, e)
	}
}

// The topology says how topics are to be made.
func TestInternalTopicsConfigs(t *testing.T) {
	s := sub("0", "in:a changelogs:c")
	s.StateChangelogTopics[0].ReplicationFactor = 2
	s.StateChangelogTopics[0].TopicConfigs = []stored.StreamsGroupTopologyValueTopicConfig{{Key: "cleanup.policy", Value: "compact"}}
	c, e := topologyFor(t, s).Configure(topics(map[string]int{"a": 6}))
	if e != nil || len(c.Missing) != 1 {
		t.Fatal(c, e)
	}
	if m := c.Missing[0]; m.Name != "c" || m.Partitions != 6 || m.ReplicationFactor != 2 || m.Configs["cleanup.policy"] != "compact" {
		t.Errorf("missing: %+v", m)
	}
}
