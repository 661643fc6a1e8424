// Package config knows every configuration key of Apache Kafka 4.4 and what this node's values are.
//
// # What it owns
//
// The tables of broker, topic, group and client metrics keys with type, default, rules and explanation
// (keys_*.go); reading of server.properties and of the environment; the layers that a value comes from; the
// checks of single values and of values against each other; what DescribeConfigs tells. It does not store
// anything: dynamic values stand in the metadata image and are handed in.
//
// # Data in and out
//
// In: maps of names and texts. Out: typed values (Layers.Int, Layers.TopicConfig, Layers.Listeners), Entry
// for descriptions, *Error, *UnknownError and plain errors for refusals, Warning for what does nothing.
//
// # Invariants
//
//	CFG-1  a value set on a topic or group wins over every broker key, whatever its unit.
//	CFG-2  a read-only key never takes a dynamic value, a per-broker key never one set for all brokers.
//	CFG-3  a stored value that does not parse is passed over, never fatal; a new one is refused.
//	CFG-4  names nobody knows are kept, described without their value, and have no effect.
//	CFG-5  every key of Kafka 4.4.0 is here, with its type, default and rules, and no other.
//
// # Concurrency
//
// Everything is immutable once made: Static, Layers and the tables may be read from any goroutine.
//
// # Format
//
// docs/config.md lists the keys and says which of them act.
package config
