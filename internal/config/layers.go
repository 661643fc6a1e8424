package config

import (
	"slices"
	"time"
)

// Layers is what all config values of a node come from, strongest first: what was set for this broker, what
// was set for all brokers, the properties file with flags and environment, and Kafka's defaults. The zero
// Layers has the defaults. It is a value to be copied; its maps are never changed.
type Layers struct {
	Static *Static
	// Broker and Cluster are the dynamic configs of this broker and of all brokers, by name, as they stand in
	// the metadata image. Keys that may not be changed there are passed over (CFG-2).
	Broker, Cluster map[string]string
	NodeID          int32
}

// Int returns the value of an int or short key, 0 when it has none.
func (l Layers) Int(name string) int { return int(l.value(name, Int, Short).Int) }

// Int64 returns the value of an int, short or long key, 0 when it has none.
func (l Layers) Int64(name string) int64 { return l.value(name, Int, Short, Long).Int }

// Duration returns the value of an int or long key that counts milliseconds, 0 when it has none.
// What does not fit a time.Duration (292 years) becomes the longest one.
func (l Layers) Duration(name string) time.Duration {
	return milliseconds(l.value(name, Int, Short, Long).Int)
}

// Bool returns the value of a boolean key.
func (l Layers) Bool(name string) bool { return l.value(name, Boolean).Bool }

// Float returns the value of a double key.
func (l Layers) Float(name string) float64 { return l.value(name, Double).Float }

// String returns the value of a string, class or password key, "" when it has none.
func (l Layers) String(name string) string { return l.value(name, String, Class, Password).Text }

// List returns the elements of a list key. The slice must not be changed.
func (l Layers) List(name string) []string { return l.value(name, List).List }

// Has tells whether the key has a value, a default included.
func (l Layers) Has(name string) bool { return !l.lookup(BrokerKeys().Lookup(name), name).Null }

// IsSet tells whether the key has a value other than its default's.
func (l Layers) IsSet(name string) bool {
	d := BrokerKeys().Lookup(name)
	if d == nil {
		return false
	}
	_, source := l.raw(d)
	return source != SourceDefault
}

// value looks a key up. To ask for a key that does not exist, or with another type, is a bug of the caller.
func (l Layers) value(name string, types ...Type) Value {
	d := BrokerKeys().Lookup(name)
	if d == nil || !slices.Contains(types, d.Type) {
		panic("config: BUG: no key " + name + " of that type")
	}
	return l.lookup(d, name)
}

func (l Layers) lookup(d *Definition, name string) Value {
	if d == nil {
		return Value{Null: true}
	}
	if d.Mode != ReadOnly {
		if v, ok := dynamic(l.Broker, d); ok {
			return v
		}
		if d.Mode != PerBroker {
			if v, ok := dynamic(l.Cluster, d); ok {
				return v
			}
		}
	}
	if l.Static != nil {
		if v, ok := l.Static.values[name]; ok {
			return v
		}
	}
	return d.parsed
}

// dynamic returns the value of d in a dynamic layer. One that does not parse is passed over: it was written
// by another broker, for nothing is stored here unchecked (CFG-3).
func dynamic(layer map[string]string, d *Definition) (Value, bool) {
	raw, ok := layer[d.Name]
	if !ok {
		return Value{}, false
	}
	v, err := d.Parse(raw)
	return v, err == nil
}

// raw returns the text and the source of the value of d.
func (l Layers) raw(d *Definition) (*string, Source) {
	if d.Mode != ReadOnly {
		if raw, ok := l.Broker[d.Name]; ok {
			return &raw, SourceDynamicBroker
		}
		if raw, ok := l.Cluster[d.Name]; ok && d.Mode != PerBroker {
			return &raw, SourceDynamicDefaultBroker
		}
	}
	if l.Static != nil {
		if raw, ok := l.Static.props[d.Name]; ok {
			return &raw, SourceStatic
		}
	}
	return d.Default, SourceDefault
}

// milliseconds converts with saturation, for "never" is written as 2^63-1.
func milliseconds(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	switch {
	case ms > most:
		return 1<<63 - 1
	case ms < -most:
		return -1 << 63
	}
	return time.Duration(ms) * time.Millisecond
}
