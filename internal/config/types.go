package config

import "strconv"

// Type is the type of a config's value, numbered as DescribeConfigs v3+ numbers it (ConfigDef.Type through
// DescribeConfigsResponse.ConfigType).
type Type int8

// The types of values.
const (
	UnknownType Type = 0
	Boolean     Type = 1
	String      Type = 2
	Int         Type = 3 // 32 bits
	Short       Type = 4 // 16 bits
	Long        Type = 5 // 64 bits
	Double      Type = 6
	List        Type = 7 // comma separated
	Class       Type = 8 // a Java class name; read as a string here
	Password    Type = 9 // a string that is never shown
)

// String returns the type's name as Kafka's documentation writes it.
func (t Type) String() string {
	names := [...]string{"unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"}
	if t < 0 || int(t) >= len(names) {
		return "type " + strconv.Itoa(int(t))
	}
	return names[t]
}

// UpdateMode tells where a config may be changed while the broker runs.
type UpdateMode int8

// The update modes of Kafka's broker configs. Topic, group and client metrics configs are Anywhere.
const (
	ReadOnly    UpdateMode = iota // only in server.properties
	PerBroker                     // for one broker, by its id
	ClusterWide                   // for one broker or as the default of all
	Anywhere                      // not a broker config: changed on its own resource
)

// String returns the mode's name as Kafka's documentation writes it.
func (m UpdateMode) String() string {
	switch m {
	case ReadOnly:
		return "read-only"
	case PerBroker:
		return "per-broker"
	case ClusterWide:
		return "cluster-wide"
	default:
		return "on the resource"
	}
}

// Source tells where a value comes from, numbered as DescribeConfigs numbers it.
type Source int8

// The sources of values.
const (
	SourceTopic                Source = 1
	SourceDynamicBroker        Source = 2
	SourceDynamicDefaultBroker Source = 3
	SourceStatic               Source = 4
	SourceDefault              Source = 5
	SourceBrokerLogger         Source = 6
	SourceClientMetrics        Source = 7
	SourceGroup                Source = 8
)

// Definition describes one config key as Kafka 4.4 defines it.
type Definition struct {
	Name string
	Type Type
	// Default is nil when there is none.
	Default *string
	// Mode tells where the key may be changed; ReadOnly is Mode == ReadOnly.
	Mode     UpdateMode
	ReadOnly bool
	// Sensitive values are never shown.
	Sensitive bool
	// Internal keys are accepted but not described unless set.
	Internal bool
	// Synonyms are the broker keys that give this key its value when it is not set itself, strongest first.
	Synonyms []string
	// Valid says in words which values are accepted, "" when the type says it all.
	Valid string
	Doc   string

	check check
	// parsed is the parsed Default.
	parsed Value
}

// Entry is one described config.
type Entry struct {
	Name string
	// Value is nil when there is none, and for sensitive configs.
	Value     *string
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Type      Type
	Doc       string
	Synonyms  []Synonym
}

// Synonym is one of the values that stand behind an Entry, strongest first.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Error is a value that is not accepted.
type Error struct {
	// Name is the config, Value what was given.
	Name, Value string
	// Reason says what is wrong.
	Reason string
}

// Error names config, value and reason.
func (e *Error) Error() string {
	return "invalid value " + e.Value + " for configuration " + e.Name + ": " + e.Reason
}

// UnknownError is a config name that does not exist.
type UnknownError struct{ Name string }

// Error names the config.
func (e *UnknownError) Error() string { return "unknown config name: " + e.Name }
