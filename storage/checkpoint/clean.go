package checkpoint

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/samsalog/samsa/vfs"
)

// CleanShutdownFile is the name of the marker that a log directory was stopped cleanly.
const CleanShutdownFile = ".kafka_cleanshutdown"

// UnknownBrokerEpoch stands for the broker epoch in a marker that does not tell it.
const UnknownBrokerEpoch int64 = -1

// ReadCleanShutdown reports whether the marker at path exists, which alone decides, and the broker epoch of the
// process that wrote it: -1 when the content cannot be read (releases before 3.7 wrote an empty file).
func ReadCleanShutdown(fsys vfs.FS, path string) (brokerEpoch int64, clean bool, err error) {
	data, err := readAll(fsys, path)
	if isMissing(err) {
		return UnknownBrokerEpoch, false, nil
	}
	if err != nil {
		return UnknownBrokerEpoch, false, err
	}
	var marker struct {
		Version     *int   `json:"version"`
		BrokerEpoch *int64 `json:"brokerEpoch"`
	}
	if json.Unmarshal(data, &marker) != nil || marker.Version == nil || marker.BrokerEpoch == nil {
		return UnknownBrokerEpoch, true, nil
	}
	return *marker.BrokerEpoch, true, nil
}

// WriteCleanShutdown writes the marker, in place as Kafka does, and makes it and its name durable.
func WriteCleanShutdown(fsys vfs.FS, path string, brokerEpoch int64) error {
	if err := writeSynced(fsys, path, fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, brokerEpoch)); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// RemoveCleanShutdown removes the marker durably: were it back after a power failure, an unclean stop would pass for a
// clean one. A missing marker is no error.
func RemoveCleanShutdown(fsys vfs.FS, path string) error {
	if err := fsys.Remove(path); err != nil && !isMissing(err) {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}
