package metadata

import (
	"fmt"
	"maps"
	"slices"
)

// Names of the features that Apache Kafka 4.4 knows.
const (
	MetadataVersionFeature = "metadata.version"
	KRaftVersionFeature    = "kraft.version"
	ELRVersionFeature      = "eligible.leader.replicas.version"
	GroupVersionFeature    = "group.version"
	ShareVersionFeature    = "share.version"
	StreamsVersionFeature  = "streams.version"
	TxnVersionFeature      = "transaction.version"
)

// Levels of metadata.version that something depends on.
const (
	// MinMetadataVersion is 3.3-IV3, the oldest that Apache Kafka 4.x starts on.
	MinMetadataVersion int16 = 7
	// MaxMetadataVersion is 4.4-IV2, the newest production level of 4.4.
	MaxMetadataVersion int16 = 33

	// ScramVersion is 3.5-IV2: SCRAM credentials have records.
	ScramVersion int16 = 11
	// ControllersVersion is 3.7-IV0: controllers register.
	ControllersVersion int16 = 15
	// DirectoriesVersion is 3.7-IV2: replicas know their directories.
	DirectoriesVersion int16 = 17
	// UnregisterVersion is 4.4-IV2: controllers can be unregistered.
	UnregisterVersion int16 = 33

	versionMigratingBroker = 8  // REGISTER_BROKER v2
	versionTransactions    = 13 // BEGIN, END and ABORT_TRANSACTION
	versionELR             = 23 // eligible leader replicas
	versionCordonedDirs    = 30 // REGISTER_BROKER v4
)

// Levels of kraft.version: voters from the configuration, voters in the log.
const (
	kraftVersionStatic  int16 = 0
	kraftVersionDynamic int16 = 1
)

// defaultMinInsyncReplicas is Kafka's min.insync.replicas.
const defaultMinInsyncReplicas = "1"

// feature is what is known of one feature: the supported range and from which metadata.version each level is
// the default of a newly formatted directory (level i+1 from defaults[i]).
type feature struct {
	name     string
	min, max int16
	defaults []int16
}

// features are those of Apache Kafka 4.4.0; kraft.version is last since it never is in a feature record.
var features = []feature{
	{ELRVersionFeature, 0, 1, []int16{26}},
	{GroupVersionFeature, 0, 1, []int16{22}},
	{MetadataVersionFeature, MinMetadataVersion, MaxMetadataVersion, nil},
	{ShareVersionFeature, 0, 2, []int16{28, 31}},
	{StreamsVersionFeature, 0, 1, []int16{29}},
	{TxnVersionFeature, 0, 2, []int16{24, 24}},
	{KRaftVersionFeature, kraftVersionStatic, kraftVersionDynamic, nil},
}

// SupportedFeatures returns the features and levels of Apache Kafka 4.4, kraft.version included.
func SupportedFeatures() []FeatureRange {
	out := make([]FeatureRange, len(features))
	for i, f := range features {
		out[i] = FeatureRange{f.name, f.min, f.max}
	}
	return out
}

// metadataVersionsThatChangeRecords are the levels of metadata.version that brought records or fields which the level
// before cannot hold (the didMetadataChange of Kafka's MetadataVersion).
var metadataVersionsThatChangeRecords = []int16{7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33}

// MetadataLost reports whether going down from one metadata.version to a lower one could lose what records hold.
func MetadataLost(from, to int16) bool {
	return slices.ContainsFunc(metadataVersionsThatChangeRecords, func(v int16) bool { return to < v && v <= from })
}

// MissingDependency returns what the level of a feature needs and levels, metadata.version included, do not offer:
// a feature and its least level. ok is false when nothing is missing.
func MissingDependency(name string, level int16, levels map[string]int16) (need string, least int16, ok bool) {
	switch {
	case level < 1:
		return "", 0, false
	case levels[MetadataVersionFeature] < MinMetadataVersion:
		return MetadataVersionFeature, MinMetadataVersion, true
	case name == ELRVersionFeature && levels[MetadataVersionFeature] < versionELR:
		return MetadataVersionFeature, versionELR, true
	}
	return "", 0, false
}

// DefaultFeatures returns the levels above 0 that Kafka's storage tool finalizes when it formats for a
// metadata.version, that one included.
func DefaultFeatures(metadataVersion int16) map[string]int16 {
	out := map[string]int16{MetadataVersionFeature: metadataVersion}
	for _, f := range features {
		for i, from := range f.defaults {
			if metadataVersion >= from {
				out[f.name] = int16(i + 1)
			}
		}
	}
	return out
}

// checkFeatures refuses finalized levels that are not known here: their records could not be understood.
func checkFeatures(levels map[string]int16) error {
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		i := slices.IndexFunc(features, func(f feature) bool { return f.name == name })
		switch level := levels[name]; {
		case i < 0:
			return fmt.Errorf("%w: the metadata log finalizes %s at level %d, a feature that is not known here", ErrTooNew, name, level)
		case level > features[i].max:
			return fmt.Errorf("%w: the metadata log finalizes %s at level %d, known here is up to %d", ErrTooNew, name, level, features[i].max)
		case level < features[i].min:
			return fmt.Errorf("%w: the metadata log is at %s %d, needed is at least %d: start it once with Apache Kafka 3.9 and upgrade the feature", ErrTooOld, name, level, features[i].min)
		}
	}
	return nil
}
