package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// topicDefault returns the value of a topic key for a topic without configs of its own: the first broker key
// behind it that has a value, in the topic key's unit, or the key's own default. A negative retention is -1.
func (l Layers) topicDefault(key string) Value {
	for _, from := range topicSource(key) {
		v := l.lookup(BrokerKeys().Lookup(from.name), from.name)
		if v.Null {
			continue
		}
		v.Int *= from.factor // at most 2^31 hours: no overflow
		if key == "retention.ms" && v.Int < 0 {
			v.Int = -1
		}
		return v
	}
	return TopicKeys().Lookup(key).parsed
}

// topicValue returns the value of a topic key: the topic's own, else the default. The topic's own value wins
// over every change of the broker's keys, whatever their unit (CFG-1).
func (l Layers) topicValue(key string, overrides map[string]string) Value {
	if v, ok := dynamic(overrides, TopicKeys().Lookup(key)); ok {
		return v
	}
	return l.topicDefault(key)
}

// ValidateTopic tests the configs that a topic would have: names, values, and values against each other. The
// error is an *UnknownError, an *Error, or says which two do not go together.
func ValidateTopic(l Layers, overrides map[string]string) error {
	if err := validateAll(TopicKeys(), overrides); err != nil {
		return err
	}
	least, most := l.topicValue("min.compaction.lag.ms", overrides).Int, l.topicValue("max.compaction.lag.ms", overrides).Int
	if least > most {
		return fmt.Errorf("min.compaction.lag.ms (%d) must not be more than max.compaction.lag.ms (%d)", least, most)
	}
	if l.topicValue("remote.storage.enable", overrides).Bool {
		return errors.New("remote.storage.enable cannot be true: tiered storage is disabled in the broker")
	}
	return nil
}

// validateAll tests names first, then values, each in the order of names.
func validateAll(s *Set, configs map[string]string) error {
	names := slices.Sorted(maps.Keys(configs))
	for _, name := range names {
		if s.Lookup(name) == nil {
			return &UnknownError{Name: name}
		}
	}
	for _, name := range names {
		if _, err := s.Lookup(name).Parse(configs[name]); err != nil {
			return err
		}
	}
	return nil
}
