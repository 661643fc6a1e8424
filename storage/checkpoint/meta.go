package checkpoint

import (
	"fmt"
	"strconv"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// MetaPropertiesFile is the name of the file that says whose log directory it stands in.
const MetaPropertiesFile = "meta.properties"

// NoNodeID stands for a node id that a file does not tell.
const NoNodeID int32 = -1

// MetaProperties is what meta.properties holds. In version 1 (KRaft) ClusterID and NodeID are always set. Version 0
// (ZooKeeper) calls the node id broker.id, and either may be missing: "" and -1.
type MetaProperties struct {
	ClusterID   string
	NodeID      int32
	DirectoryID record.UUID // zero: none yet
	Version     int         // 1, or 0 from a directory of ZooKeeper times
}

// ReadMetaProperties reads meta.properties at path. A missing file is fs.ErrNotExist.
func ReadMetaProperties(fsys vfs.FS, path string) (MetaProperties, error) {
	data, err := readAll(fsys, path)
	if err != nil {
		return MetaProperties{}, err
	}
	meta, err := parseMeta(data)
	if err != nil {
		return MetaProperties{}, fmt.Errorf("%s: %w", path, err)
	}
	return meta, nil
}

func parseMeta(data []byte) (MetaProperties, error) {
	props, err := ParseProperties(data)
	if err != nil {
		return MetaProperties{}, err
	}
	meta := MetaProperties{ClusterID: props["cluster.id"], NodeID: NoNodeID}
	switch v, ok := props["version"]; {
	case !ok || v == "0":
	case v == "1":
		meta.Version = 1
	default:
		return meta, fmt.Errorf("%w: version %.40q, should be 0 or 1", ErrFormat, v)
	}
	nodeKey := [...]string{"broker.id", "node.id"}[meta.Version]
	if text, ok := props[nodeKey]; ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return meta, fmt.Errorf("%w: %s is %.40q", ErrFormat, nodeKey, text)
		}
		meta.NodeID = int32(n)
	}
	if meta.Version == 1 && (meta.ClusterID == "" || meta.NodeID == NoNodeID) {
		return meta, fmt.Errorf("%w: version 1 needs cluster.id and node.id", ErrFormat)
	}
	if text, ok := props["directory.id"]; ok {
		if meta.DirectoryID, err = record.ParseUUID(text); err != nil {
			return meta, fmt.Errorf("%w: directory.id: %w", ErrFormat, err)
		}
		if meta.DirectoryID.IsReserved() {
			return meta, fmt.Errorf("%w: directory.id %s is reserved", ErrFormat, meta.DirectoryID)
		}
	}
	return meta, nil
}

// WriteMetaProperties replaces meta.properties at path; now goes into its date line.
func WriteMetaProperties(fsys vfs.FS, path string, meta MetaProperties, now time.Time) error {
	return WriteAtomic(fsys, path, meta.Text(now))
}

// Text is what the file holds; now goes into its date line.
func (meta MetaProperties) Text(now time.Time) []byte {
	node := strconv.Itoa(int(meta.NodeID))
	var props []Property
	if meta.Version == 0 {
		if meta.NodeID != NoNodeID {
			props = append(props, Property{"broker.id", node})
		}
	} else {
		props = append(props, Property{"node.id", node})
	}
	if !meta.DirectoryID.IsZero() {
		props = append(props, Property{"directory.id", meta.DirectoryID.String()})
	}
	props = append(props, Property{"version", strconv.Itoa(meta.Version)})
	if meta.ClusterID != "" {
		props = append(props, Property{"cluster.id", meta.ClusterID})
	}
	return AppendProperties(nil, "", now, props)
}
