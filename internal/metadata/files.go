package metadata

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// Names on disk.
const (
	// TopicName is the topic of the metadata log, which has one partition.
	TopicName = "__cluster_metadata"

	quorumStateFile   = "quorum-state"
	bootstrapFile     = "bootstrap.checkpoint"
	checkpointSuffix  = ".checkpoint"
	partSuffix        = ".checkpoint.part"
	deletedSuffix     = ".checkpoint.deleted"
	tmpSuffix         = ".tmp"
	offsetDigits      = 20
	epochDigits       = 10
	snapshotMode      = 0o400
	snapshotIDNameLen = offsetDigits + 1 + epochDigits
)

// logDirOf is the directory of the metadata log in a log directory.
func logDirOf(dir string) string {
	return filepath.Join(dir, record.TopicPartition{Topic: TopicName}.String())
}

// snapshotID names a snapshot: the state before EndOffset, whose last record has Epoch.
type snapshotID struct {
	EndOffset record.Offset
	Epoch     record.LeaderEpoch
}

// bootstrapID is the snapshot that formatting writes. It is never an image: its records are only the source
// of the first batches of the log.
var bootstrapID = snapshotID{0, 0}

func (id snapshotID) String() string {
	return fmt.Sprintf("%0*d-%0*d", offsetDigits, id.EndOffset, epochDigits, id.Epoch)
}

func (id snapshotID) compare(other snapshotID) int {
	return cmp.Or(cmp.Compare(id.EndOffset, other.EndOffset), cmp.Compare(id.Epoch, other.Epoch))
}

// parseSnapshotName reads "<20 digits>-<10 digits>" followed by anything.
func parseSnapshotName(name string) (id snapshotID, suffix string, ok bool) {
	if len(name) < snapshotIDNameLen || name[offsetDigits] != '-' {
		return id, "", false
	}
	offset, err1 := strconv.ParseUint(name[:offsetDigits], 10, 63)
	epoch, err2 := strconv.ParseUint(name[offsetDigits+1:snapshotIDNameLen], 10, 31)
	if err1 != nil || err2 != nil {
		return id, "", false
	}
	return snapshotID{record.Offset(offset), record.LeaderEpoch(epoch)}, name[snapshotIDNameLen:], true
}

// listSnapshots returns the snapshots of a metadata log directory, oldest first, without the one of formatting,
// and the names of files that an interrupted write or removal left.
func listSnapshots(fsys vfs.FS, dir string) (ids []snapshotID, leftovers []string, err error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		id, suffix, ok := parseSnapshotName(e.Name())
		switch {
		case !ok:
		case suffix == checkpointSuffix:
			if id != bootstrapID {
				ids = append(ids, id)
			}
		case suffix == deletedSuffix, strings.HasSuffix(suffix, partSuffix):
			leftovers = append(leftovers, e.Name())
		}
	}
	slices.SortFunc(ids, snapshotID.compare)
	return ids, leftovers, nil
}
