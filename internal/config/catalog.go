package config

import (
	"iter"
	"slices"
	"strings"
	"sync"
)

// row is one line of the tables in keys_*.go.
type row struct {
	name string
	typ  Type
	// def is the default; none stands for no default.
	def   string
	mode  UpdateMode
	check check
	doc   string
}

// none as a default means that there is none.
const none = "\x00"

// Set holds the definitions of one kind of resource.
type Set struct {
	byName map[string]*Definition
	sorted []*Definition
}

// Lookup returns the definition of name, nil when there is none.
func (s *Set) Lookup(name string) *Definition { return s.byName[name] }

// All yields the definitions by name, the internal ones included.
func (s *Set) All() iter.Seq[*Definition] { return slices.Values(s.sorted) }

// catalog is built once from the tables and never changed.
var catalog = sync.OnceValue(func() *sets {
	c := &sets{
		broker:        newSet(logRows, serverRows, coordinatorRows, securityRows, remoteRows, internalRows, ownRows),
		topic:         newSet(topicRows, internalTopicRows),
		group:         newSet(groupRows, internalGroupRows),
		clientMetrics: newSet(clientMetricsRows),
	}
	for _, d := range internalRows {
		c.broker.byName[d.name].Internal = true
	}
	for _, d := range ownRows {
		c.broker.byName[d.name].Internal = true
	}
	for _, d := range internalTopicRows {
		c.topic.byName[d.name].Internal = true
	}
	for _, d := range internalGroupRows {
		c.group.byName[d.name].Internal = true
	}
	for _, s := range topicSynonyms {
		for _, from := range s.broker {
			d := c.topic.byName[s.topic]
			d.Synonyms = append(d.Synonyms, from.name)
		}
	}
	for _, d := range c.group.sorted {
		if b := groupSynonym(d.Name); c.broker.byName[b] != nil {
			d.Synonyms = []string{b}
		}
	}
	for _, d := range c.broker.sorted {
		if syn := brokerSynonyms(d.Name); len(syn) > 1 {
			d.Synonyms = syn[1:]
		}
	}
	return c
})

type sets struct{ broker, topic, group, clientMetrics *Set }

// BrokerKeys returns the definitions of broker configs.
func BrokerKeys() *Set { return catalog().broker }

// TopicKeys returns the definitions of topic configs.
func TopicKeys() *Set { return catalog().topic }

// GroupKeys returns the definitions of group configs.
func GroupKeys() *Set { return catalog().group }

// ClientMetricsKeys returns the definitions of client metrics configs.
func ClientMetricsKeys() *Set { return catalog().clientMetrics }

func newSet(tables ...[]row) *Set {
	s := &Set{byName: map[string]*Definition{}}
	for _, t := range tables {
		for _, r := range t {
			d := &Definition{
				Name: r.name, Type: r.typ, Mode: r.mode, ReadOnly: r.mode == ReadOnly,
				Sensitive: r.typ == Password, Doc: r.doc, check: r.check,
			}
			if r.check != nil {
				d.Valid = r.check.String()
			}
			if r.def == none {
				d.parsed = Value{Null: true}
			} else {
				d.Default = &r.def
				d.parsed, _ = parse(r.typ, r.def) // the tables are tested
			}
			s.byName[r.name] = d
			s.sorted = append(s.sorted, d)
		}
	}
	slices.SortFunc(s.sorted, func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// broker key that gives a topic key its value, and the factor between their units.
type brokerKey struct {
	name   string
	factor int64
}

const hourMs, minuteMs = 3600000, 60000

// topicSynonyms says which broker keys stand behind a topic key, strongest first, with the factor that turns
// their unit into the topic key's (ServerTopicConfigSynonyms).
var topicSynonyms = []struct {
	topic  string
	broker []brokerKey
}{
	{"segment.bytes", []brokerKey{{"log.segment.bytes", 1}}},
	{"segment.ms", []brokerKey{{"log.roll.ms", 1}, {"log.roll.hours", hourMs}}},
	{"segment.jitter.ms", []brokerKey{{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", hourMs}}},
	{"segment.index.bytes", []brokerKey{{"log.index.size.max.bytes", 1}}},
	{"flush.messages", []brokerKey{{"log.flush.interval.messages", 1}}},
	{"flush.ms", []brokerKey{{"log.flush.interval.ms", 1}, {"log.flush.scheduler.interval.ms", 1}}},
	{"retention.bytes", []brokerKey{{"log.retention.bytes", 1}}},
	{"retention.ms", []brokerKey{{"log.retention.ms", 1}, {"log.retention.minutes", minuteMs}, {"log.retention.hours", hourMs}}},
	{"max.message.bytes", []brokerKey{{"message.max.bytes", 1}}},
	{"max.decompressed.message.bytes", []brokerKey{{"max.decompressed.message.bytes", 1}}},
	{"index.interval.bytes", []brokerKey{{"log.index.interval.bytes", 1}}},
	{"delete.retention.ms", []brokerKey{{"log.cleaner.delete.retention.ms", 1}}},
	{"min.compaction.lag.ms", []brokerKey{{"log.cleaner.min.compaction.lag.ms", 1}}},
	{"max.compaction.lag.ms", []brokerKey{{"log.cleaner.max.compaction.lag.ms", 1}}},
	{"file.delete.delay.ms", []brokerKey{{"log.segment.delete.delay.ms", 1}}},
	{"min.cleanable.dirty.ratio", []brokerKey{{"log.cleaner.min.cleanable.ratio", 1}}},
	{"cleanup.policy", []brokerKey{{"log.cleanup.policy", 1}}},
	{"unclean.leader.election.enable", []brokerKey{{"unclean.leader.election.enable", 1}}},
	{"min.insync.replicas", []brokerKey{{"min.insync.replicas", 1}}},
	{"compression.type", []brokerKey{{"compression.type", 1}}},
	{"compression.gzip.level", []brokerKey{{"compression.gzip.level", 1}}},
	{"compression.lz4.level", []brokerKey{{"compression.lz4.level", 1}}},
	{"compression.zstd.level", []brokerKey{{"compression.zstd.level", 1}}},
	{"preallocate", []brokerKey{{"log.preallocate", 1}}},
	{"message.timestamp.type", []brokerKey{{"log.message.timestamp.type", 1}}},
	{"message.timestamp.before.max.ms", []brokerKey{{"log.message.timestamp.before.max.ms", 1}}},
	{"message.timestamp.after.max.ms", []brokerKey{{"log.message.timestamp.after.max.ms", 1}}},
	{"local.retention.ms", []brokerKey{{"log.local.retention.ms", 1}}},
	{"local.retention.bytes", []brokerKey{{"log.local.retention.bytes", 1}}},
	{"remote.copy.lag.ms", []brokerKey{{"log.remote.copy.lag.ms", 1}}},
	{"remote.copy.lag.bytes", []brokerKey{{"log.remote.copy.lag.bytes", 1}}},
}

// topicSource returns the broker keys behind a topic key, nil for none.
func topicSource(topic string) []brokerKey {
	for _, s := range topicSynonyms {
		if s.topic == topic {
			return s.broker
		}
	}
	return nil
}

// groupSynonym returns the broker key behind a group key; it need not exist.
func groupSynonym(group string) string {
	if group == "streams.assignor.name" {
		return "group.streams.assignors"
	}
	return "group." + group
}

// brokerSynonyms returns name and the broker keys that stand in for it, strongest first, as
// DynamicBrokerConfig.brokerConfigSynonyms does: other units of the same thing, and the key behind a
// listener prefix.
func brokerSynonyms(name string) []string {
	switch name {
	case "log.roll.ms", "log.roll.hours":
		return []string{"log.roll.ms", "log.roll.hours"}
	case "log.roll.jitter.ms", "log.roll.jitter.hours":
		return []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}
	case "log.flush.interval.ms":
		return []string{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}
	case "log.retention.ms", "log.retention.minutes", "log.retention.hours":
		return []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}
	}
	if base, ok := listenerKey(name); ok {
		return []string{name, base}
	}
	return []string{name}
}

// listenerKey returns the key behind a prefix listener.name.NAME. or, for the keys that have one per SASL
// mechanism, listener.name.NAME.MECHANISM.
func listenerKey(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return "", false
	}
	_, key, ok := strings.Cut(rest, ".")
	if !ok || key == "" {
		return "", false
	}
	for _, m := range mechanismKeys {
		if strings.HasSuffix(key, "."+m) {
			return m, true
		}
	}
	return key, true
}

// mechanismKeys may carry a SASL mechanism in front (DynamicBrokerConfig.LISTENER_MECHANISM_CONFIGS).
var mechanismKeys = []string{
	"sasl.login.class", "sasl.jaas.config", "sasl.login.callback.handler.class",
	"connections.max.reauth.ms", "sasl.server.callback.handler.class",
}
