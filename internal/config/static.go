package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Static is what the properties file, the environment and the flags say together. It never changes.
type Static struct {
	// props holds every given text by name, unknown names included, for they are described too (CFG-4).
	props map[string]string
	// values holds the parsed values of the known names, those behind a listener prefix included.
	values map[string]Value
}

// Warning is something a person should hear about one key; the broker starts all the same.
type Warning struct {
	Key, Text string
}

// Load checks props, which is the properties file with the environment and the flags merged over it by the
// caller, and returns it with warnings for names that do nothing. All errors are reported at once. The map is
// copied. A nil map is an empty file.
func Load(props map[string]string) (*Static, []Warning, error) {
	s := &Static{props: maps.Clone(props), values: map[string]Value{}}
	if s.props == nil {
		s.props = map[string]string{}
	}
	sameNodeID(s.props)
	var warnings []Warning
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.props)) {
		d := s.definition(name)
		if d == nil {
			warnings = append(warnings, Warning{Key: name, Text: unknownText(name)})
			continue
		}
		v, err := d.Parse(s.props[name])
		if err != nil {
			errs = append(errs, named(err, name))
			continue
		}
		s.values[name] = v
	}
	if len(errs) == 0 {
		l := Layers{Static: s}
		errs = append(errs, crossCheck(l), unsupported(l))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, warnings, err
	}
	return s, warnings, nil
}

// definition returns what is known of name, which may carry a listener prefix.
func (s *Static) definition(name string) *Definition {
	if d := BrokerKeys().Lookup(name); d != nil {
		return d
	}
	if base, ok := listenerKey(name); ok {
		return BrokerKeys().Lookup(base)
	}
	return nil
}

// Raw returns the text given for name.
func (s *Static) Raw(name string) (string, bool) {
	if s == nil {
		return "", false
	}
	raw, ok := s.props[name]
	return raw, ok
}

// named puts the full name, with its listener prefix, into a refusal.
func named(err error, name string) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Name: name, Value: e.Value, Reason: e.Reason}
	}
	return err
}

// sameNodeID fills node.id from broker.id and the other way round, as KafkaConfig does.
func sameNodeID(props map[string]string) {
	node, hasNode := props["node.id"]
	broker, hasBroker := props["broker.id"]
	switch {
	case hasNode && !hasBroker:
		props["broker.id"] = node
	case hasBroker && !hasNode:
		props["node.id"] = broker
	}
}

// gone are keys of older Kafka versions that files still hold, with what became of them.
var gone = map[string]string{
	"broker.id.generation.enable":             "node ids are never generated; set node.id",
	"reserved.broker.max.id":                  "node ids are never generated; set node.id",
	"control.plane.listener.name":             "there is no control plane listener any more; see controller.listener.names",
	"controlled.shutdown.max.retries":         "controlled shutdown is not retried any more",
	"controlled.shutdown.retry.backoff.ms":    "controlled shutdown is not retried any more",
	"delegation.token.master.key":             "use delegation.token.secret.key",
	"group.coordinator.new.enable":            "there is only one group coordinator",
	"inter.broker.protocol.version":           "the metadata.version feature took its place",
	"leader.imbalance.per.broker.percentage":  "preferred leaders are elected without a threshold",
	"log.message.downconversion.enable":       "records are never converted down",
	"log.message.format.version":              "records are always written in format version 2",
	"log.message.timestamp.difference.max.ms": "use log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms",
	"offsets.commit.required.acks":            "offset commits always wait for all in-sync replicas",
	"password.encoder.cipher.algorithm":       "passwords are not kept in metadata encoded",
	"password.encoder.iterations":             "passwords are not kept in metadata encoded",
	"password.encoder.key.length":             "passwords are not kept in metadata encoded",
	"password.encoder.keyfactory.algorithm":   "passwords are not kept in metadata encoded",
	"password.encoder.old.secret":             "passwords are not kept in metadata encoded",
	"password.encoder.secret":                 "passwords are not kept in metadata encoded",
}

// unknownText says why a name does nothing.
func unknownText(name string) string {
	if why, ok := gone[name]; ok {
		return fmt.Sprintf("%s is gone from Kafka 4 and has no effect: %s", name, why)
	}
	if strings.HasPrefix(name, "zookeeper.") {
		return name + " is gone from Kafka 4 and has no effect: metadata is kept without ZooKeeper"
	}
	return name + " is not a known configuration and has no effect"
}
