package config

import (
	"maps"
	"slices"
)

// DescribeBroker describes every broker key that is not internal, and whatever else was set for this broker.
// Entries are in the order of names.
func (l Layers) DescribeBroker() []Entry {
	var out []Entry
	for d := range BrokerKeys().All() {
		if !d.Internal {
			out = append(out, l.brokerEntry(d.Name, d))
		}
	}
	for _, name := range l.custom() {
		out = append(out, l.brokerEntry(name, l.Static.definitionOf(name)))
	}
	sortEntries(out)
	return out
}

// DescribeCluster describes the dynamic defaults of all brokers: those that are set, and nothing else.
func (l Layers) DescribeCluster() []Entry {
	only := Layers{Cluster: l.Cluster}
	var out []Entry
	for _, name := range slices.Sorted(maps.Keys(l.Cluster)) {
		e := only.brokerEntry(name, l.Static.definitionOf(name))
		e.Synonyms = slices.DeleteFunc(e.Synonyms, func(s Synonym) bool { return s.Source != SourceDynamicDefaultBroker })
		out = append(out, e)
	}
	return out
}

// definitionOf is definition that works on a nil Static.
func (s *Static) definitionOf(name string) *Definition {
	if s == nil {
		s = &Static{}
	}
	return s.definition(name)
}

// custom returns the names that are set somewhere and are no described keys: unknown ones, internal ones and
// those with a listener prefix.
func (l Layers) custom() []string {
	seen := map[string]bool{}
	layers := []map[string]string{l.Broker, l.Cluster}
	if l.Static != nil {
		layers = append(layers, l.Static.props)
	}
	for _, layer := range layers {
		for name := range layer {
			if d := BrokerKeys().Lookup(name); d == nil || d.Internal {
				seen[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// brokerEntry describes one broker key; d is nil for an unknown name, whose value is a secret for all we know.
func (l Layers) brokerEntry(name string, d *Definition) Entry {
	e := Entry{Name: name, Source: SourceDefault, ReadOnly: true, Sensitive: true}
	if d != nil {
		e.ReadOnly, e.Sensitive, e.Type, e.Doc = d.ReadOnly || d.Name != name, d.Sensitive, d.Type, d.Doc
	}
	e.Synonyms = l.synonyms(name, e.Sensitive)
	if len(e.Synonyms) > 0 {
		e.Source = e.Synonyms[0].Source
	}
	if d == nil || e.Sensitive {
		return e
	}
	if d.Name == name {
		e.Value = textOf(l.lookup(d, name), d.Type)
	} else if len(e.Synonyms) > 0 {
		e.Value = e.Synonyms[0].Value // a listener prefix: as it was given
	}
	return e
}

// synonyms lists the values that stand behind a broker key, strongest first: layer by layer, and within a
// layer by brokerSynonyms. Kafka leaves out those in front of the first that bears the name itself, so that
// log.retention.hours shows up only behind a value of log.retention.ms (ConfigHelper.configSynonyms).
func (l Layers) synonyms(name string, sensitive bool) []Synonym {
	names := brokerSynonyms(name)
	var out []Synonym
	add := func(layer map[string]string, source Source) {
		for _, n := range names {
			raw, ok := layer[n]
			if !ok || source != SourceStatic && !mayBeDynamic(n, source) || len(out) == 0 && n != name {
				continue
			}
			s := Synonym{Name: n, Source: source}
			if !sensitive {
				s.Value = &raw
			}
			out = append(out, s)
		}
	}
	add(l.Broker, SourceDynamicBroker)
	add(l.Cluster, SourceDynamicDefaultBroker)
	if l.Static != nil {
		add(l.Static.props, SourceStatic)
	}
	for _, n := range names {
		d := BrokerKeys().Lookup(n)
		if d == nil || d.Default == nil || len(out) == 0 && n != name {
			continue
		}
		s := Synonym{Name: n, Source: SourceDefault}
		if !sensitive {
			s.Value = d.Default
		}
		out = append(out, s)
	}
	return out
}

// mayBeDynamic tells whether a name counts in a dynamic layer (CFG-2). Unknown names are custom configs.
func mayBeDynamic(name string, source Source) bool {
	d := BrokerKeys().Lookup(name)
	return d == nil || d.Mode != ReadOnly && (d.Mode != PerBroker || source == SourceDynamicBroker)
}

// DescribeTopic describes the keys of a topic, and whatever else is set on it.
func (l Layers) DescribeTopic(overrides map[string]string) []Entry {
	var out []Entry
	for d := range TopicKeys().All() {
		if _, set := overrides[d.Name]; d.Internal && !set {
			continue
		}
		e := resourceEntry(d, overrides, SourceTopic)
		if from := topicSource(d.Name); len(from) > 0 {
			e.Synonyms = append(e.Synonyms, l.synonyms(from[0].name, false)...)
		}
		e.Source = firstSource(e.Synonyms)
		e.Value = textOf(l.topicValue(d.Name, overrides), d.Type)
		out = append(out, e)
	}
	return append(out, unknownEntries(TopicKeys(), overrides, SourceTopic)...)
}

// DescribeGroup describes the keys of a group.
func (l Layers) DescribeGroup(overrides map[string]string) []Entry {
	var out []Entry
	for d := range GroupKeys().All() {
		if _, set := overrides[d.Name]; d.Internal && !set {
			continue
		}
		e := resourceEntry(d, overrides, SourceGroup)
		if len(d.Synonyms) > 0 {
			e.Synonyms = append(e.Synonyms, l.synonyms(d.Synonyms[0], false)...)
		} else if d.Default != nil {
			e.Synonyms = append(e.Synonyms, Synonym{Name: d.Name, Value: d.Default, Source: SourceDefault})
		}
		e.Source = firstSource(e.Synonyms)
		e.Value = textOf(l.groupValue(d, overrides), d.Type)
		out = append(out, e)
	}
	return append(out, unknownEntries(GroupKeys(), overrides, SourceGroup)...)
}

// DescribeClientMetrics describes the keys of a client metrics subscription, which need not exist.
func (l Layers) DescribeClientMetrics(overrides map[string]string) []Entry {
	var out []Entry
	for d := range ClientMetricsKeys().All() {
		e := resourceEntry(d, overrides, SourceClientMetrics)
		e.Source = firstSource(e.Synonyms)
		v, ok := dynamic(overrides, d)
		if !ok {
			v = d.parsed
		}
		e.Value = textOf(v, d.Type)
		out = append(out, e)
	}
	return out
}

// resourceEntry starts the description of a key with the value set on the resource itself.
func resourceEntry(d *Definition, overrides map[string]string, source Source) Entry {
	e := Entry{Name: d.Name, Type: d.Type, Doc: d.Doc, ReadOnly: false, Sensitive: d.Sensitive}
	if raw, ok := overrides[d.Name]; ok {
		e.Synonyms = append(e.Synonyms, Synonym{Name: d.Name, Value: &raw, Source: source})
	}
	return e
}

// unknownEntries describes names that this version does not know and another has stored: their values are
// not shown, for they may be secrets.
func unknownEntries(s *Set, overrides map[string]string, source Source) []Entry {
	var out []Entry
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if s.Lookup(name) == nil {
			out = append(out, Entry{Name: name, Source: source, Sensitive: true, Synonyms: []Synonym{{Name: name, Source: source}}})
		}
	}
	return out
}

func firstSource(s []Synonym) Source {
	if len(s) == 0 {
		return SourceDefault
	}
	return s[0].Source
}

func textOf(v Value, t Type) *string {
	if v.Null {
		return nil
	}
	s := v.text(t)
	return &s
}

func sortEntries(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int {
		if a.Name < b.Name {
			return -1
		}
		if a.Name > b.Name {
			return 1
		}
		return 0
	})
}
