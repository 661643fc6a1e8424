package config

import (
	"strings"
)

// environmentPrefix marks the variables that are read.
const environmentPrefix = "SAMSA_"

// FromEnvironment returns the configs that environ (as os.Environ gives it) sets: SAMSA_LOG_RETENTION_MS is
// log.retention.ms. One underscore stands for a dot, two for an underscore, three for a dash, as in Kafka's own
// container image. Names that are no configs are left alone, for the prefix has other uses too.
func FromEnvironment(environ []string) map[string]string {
	out := map[string]string{}
	for _, e := range environ {
		variable, value, _ := strings.Cut(e, "=")
		rest, ok := strings.CutPrefix(variable, environmentPrefix)
		if !ok {
			continue
		}
		name := strings.NewReplacer("___", "-", "__", "_", "_", ".").Replace(strings.ToLower(rest))
		if (*Static)(nil).definitionOf(name) != nil {
			out[name] = value
		}
	}
	return out
}

// Merge lays maps over each other, later ones win, and returns a new map.
func Merge(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		for name, value := range layer {
			out[name] = value
		}
	}
	return out
}
