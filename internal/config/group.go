package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// groupValue returns the value of a group key: the group's own, else the broker's, else the key's default.
func (l Layers) groupValue(d *Definition, overrides map[string]string) Value {
	if v, ok := dynamic(overrides, d); ok {
		return v
	}
	if len(d.Synonyms) == 0 {
		return d.parsed
	}
	b := BrokerKeys().Lookup(d.Synonyms[0])
	v := l.lookup(b, b.Name)
	if b.Type == List && d.Type == String && len(v.List) > 0 {
		return Value{Text: v.List[0]} // the first of group.streams.assignors is the default assignor
	}
	return v
}

// GroupInt returns the value of an int key of a group with these configs. It is within the broker's present bounds: they may
// have changed after the group's config was set (GroupConfig clamps likewise).
func (l Layers) GroupInt(key string, overrides map[string]string) int {
	d := groupKey(key, Int)
	v := l.groupValue(d, overrides).Int
	low, high := groupLimits(d)
	if high != nil {
		v = min(v, l.lookup(high, high.Name).Int)
	}
	if low != nil {
		v = max(v, l.lookup(low, low.Name).Int)
	}
	return int(v)
}

// groupLimits are the broker's keys that bound a group's: group.X.min.Y and group.X.max.Y for X.Y and for X.num.Y; nil: no
// such bound.
func groupLimits(d *Definition) (low, high *Definition) {
	kind, rest, _ := strings.Cut(d.Name, ".")
	rest = strings.TrimPrefix(rest, "num.")
	return BrokerKeys().Lookup("group." + kind + ".min." + rest), BrokerKeys().Lookup("group." + kind + ".max." + rest)
}

// GroupDuration returns the value of an int key of a group with these configs that is in milliseconds.
func (l Layers) GroupDuration(key string, overrides map[string]string) time.Duration {
	return time.Duration(l.GroupInt(key, overrides)) * time.Millisecond
}

// GroupString returns the value of a string key of a group with these configs.
func (l Layers) GroupString(key string, overrides map[string]string) string {
	return l.groupValue(groupKey(key, String), overrides).Text
}

// GroupBool returns the value of a boolean key of a group with these configs.
func (l Layers) GroupBool(key string, overrides map[string]string) bool {
	return l.groupValue(groupKey(key, Boolean), overrides).Bool
}

// GroupList returns the value of a list key of a group with these configs.
func (l Layers) GroupList(key string, overrides map[string]string) []string {
	return l.groupValue(groupKey(key, List), overrides).List
}

// GroupLong returns the value of a long key of a group with these configs.
func (l Layers) GroupLong(key string, overrides map[string]string) int64 {
	return l.groupValue(groupKey(key, Long), overrides).Int
}

func groupKey(key string, t Type) *Definition {
	d := GroupKeys().Lookup(key)
	if d == nil || d.Type != t {
		panic("config: BUG: no group key " + key + " of that type")
	}
	return d
}

// ValidateGroup tests the configs that a group would have, against the bounds that the broker sets.
func ValidateGroup(l Layers, overrides map[string]string) error {
	if err := validateAll(GroupKeys(), overrides); err != nil {
		return err
	}
	for d := range GroupKeys().All() {
		raw, ok := overrides[d.Name]
		if !ok {
			continue
		}
		v, _ := d.Parse(raw) // validateAll did
		if reason := l.groupBounds(d, v); reason != "" {
			return &Error{Name: d.Name, Value: raw, Reason: reason}
		}
	}
	return nil
}

// groupBounds returns why v lies outside what the broker allows for a group, "" if it does not.
func (l Layers) groupBounds(d *Definition, v Value) string {
	switch d.Name {
	case "streams.assignor.name":
		if known := l.List("group.streams.assignors"); !slices.Contains(known, v.Text) {
			return "it is not one of the assignors " + strings.Join(known, ", ")
		}
	case "errors.deadletterqueue.topic.name":
		if strings.HasPrefix(v.Text, "__") {
			return "a dead-letter queue must not be a topic whose name begins with __"
		}
	}
	low, high := groupLimits(d)
	if low != nil && v.Int < l.lookup(low, low.Name).Int {
		return fmt.Sprintf("value must be at least %d (%s)", l.lookup(low, low.Name).Int, low.Name)
	}
	if high != nil && v.Int > l.lookup(high, high.Name).Int {
		return fmt.Sprintf("value must be no more than %d (%s)", l.lookup(high, high.Name).Int, high.Name)
	}
	return ""
}

// clientSelectors are the properties of a client that a subscription may match on (KIP-714).
var clientSelectors = []string{
	"client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port",
}

// shortestPushMs is the least interval.ms of a client metrics subscription (ClientMetricsConfigs).
const shortestPushMs = 100

// ErrPushInterval is an interval.ms that clients could not keep to.
var ErrPushInterval = fmt.Errorf("interval.ms must be at least %d", shortestPushMs)

// ValidateClientMetrics tests the configs of a client metrics subscription: an *UnknownError, ErrPushInterval, or
// an *Error about a value.
func ValidateClientMetrics(overrides map[string]string) error {
	if err := validateAll(ClientMetricsKeys(), overrides); err != nil {
		return err
	}
	if v, ok := dynamic(overrides, ClientMetricsKeys().Lookup("interval.ms")); ok && v.Int < shortestPushMs {
		return ErrPushInterval
	}
	raw := overrides["match"]
	for _, m := range splitList(strings.TrimSpace(raw)) {
		name, pattern, ok := strings.Cut(m, "=")
		if !ok || pattern == "" {
			return &Error{Name: "match", Value: raw, Reason: m + " is not selector=pattern"}
		}
		if !slices.Contains(clientSelectors, strings.TrimSpace(name)) {
			return &Error{Name: "match", Value: raw, Reason: "selectors are " + strings.Join(clientSelectors, ", ")}
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return &Error{Name: "match", Value: raw, Reason: "the pattern is not a regular expression: " + err.Error()}
		}
	}
	return nil
}
