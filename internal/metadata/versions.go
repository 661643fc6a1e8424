package metadata

import "github.com/samsalog/samsa/internal/stored"

// recordVersion is the version at which Kafka writes m while the cluster is at metadataVersion.
func recordVersion(m stored.Message, metadataVersion int16) int16 {
	switch m := m.(type) {
	case *stored.RegisterBrokerRecord:
		return levels(metadataVersion, MinMetadataVersion, versionMigratingBroker, DirectoriesVersion, versionCordonedDirs)
	case *stored.PartitionRecord, *stored.PartitionChangeRecord:
		return levels(metadataVersion, DirectoriesVersion, versionELR)
	case *stored.BrokerRegistrationChangeRecord:
		// The lowest version that can carry the change.
		switch {
		case m.CordonedLogDirs != nil:
			return 3
		case len(m.LogDirs) > 0:
			return 2
		case m.InControlledShutdown != 0:
			return 1
		}
	}
	return 0
}

// levels counts the thresholds that v has reached.
func levels(v int16, thresholds ...int16) (n int16) {
	for _, t := range thresholds {
		if v >= t {
			n++
		}
	}
	return n
}
