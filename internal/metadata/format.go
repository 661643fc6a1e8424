package metadata

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// DefaultControllerListener is the listener name that is recorded for the controller if none is given: the one
// of Kafka's own sample configurations.
const DefaultControllerListener = "CONTROLLER"

// FormatOptions says how to format the directories of a new single-node cluster.
type FormatOptions struct {
	// Dirs are all log directories of the node; MetadataDir, one of them, will hold the metadata log: the
	// first one if empty.
	Dirs        []string
	MetadataDir string
	// DirectoryIDs are ids of directories that have one already; the others get random ones.
	DirectoryIDs map[string]record.UUID
	// ClusterID is any non-empty text; "": a random id.
	ClusterID string
	NodeID    int32
	// Controller is where an Apache Kafka that is started on the directories finds its controller. Name "" is
	// DefaultControllerListener. The security protocol is not recorded.
	Controller Endpoint
	// MetadataVersion is the metadata.version to start with; 0: the newest.
	MetadataVersion int16
	// Features are levels that differ from the defaults of MetadataVersion; 0 turns a feature off.
	Features map[string]int16
	// Scram are credentials that exist from the start.
	Scram []*stored.UserScramCredentialRecord
	// Rand is where ids come from, nil: crypto/rand; Now is the clock, nil: time.Now.
	Rand io.Reader
	Now  func() time.Time
}

// Format writes what Kafka's storage tool writes for `format --standalone`: meta.properties into every directory,
// and into the metadata directory the checkpoint with the voter set and the bootstrap records. Directories are
// created. If any of them is formatted already, nothing is written and the error is ErrFormatted.
func Format(fsys vfs.FS, o FormatOptions) error {
	if err := o.setDefaults(); err != nil {
		return err
	}
	for _, dir := range o.Dirs {
		switch _, err := fsys.Stat(filepath.Join(dir, checkpoint.MetaPropertiesFile)); {
		case err == nil:
			return fmt.Errorf("%s: %w", dir, ErrFormatted)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	ids := map[string]record.UUID{}
	for _, dir := range o.Dirs {
		if id, ok := o.DirectoryIDs[dir]; ok {
			ids[dir] = id
			continue
		}
		id, err := record.NewUUID(o.Rand)
		if err != nil {
			return err
		}
		ids[dir] = id
	}
	if err := o.writeBootstrap(fsys, ids[o.MetadataDir]); err != nil {
		return fmt.Errorf("formatting %s: %w", o.MetadataDir, err)
	}
	for _, dir := range o.Dirs {
		if err := o.writeMeta(fsys, dir, ids[dir]); err != nil {
			return fmt.Errorf("formatting %s: %w", dir, err)
		}
	}
	return nil
}

func (o *FormatOptions) setDefaults() error {
	if len(o.Dirs) == 0 {
		return errors.New("no directory to format")
	}
	if o.MetadataDir == "" {
		o.MetadataDir = o.Dirs[0]
	}
	if !slices.Contains(o.Dirs, o.MetadataDir) {
		return fmt.Errorf("the metadata directory %s is none of the log directories %v", o.MetadataDir, o.Dirs)
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Controller.Name == "" {
		o.Controller.Name = DefaultControllerListener
	}
	if o.MetadataVersion == 0 {
		o.MetadataVersion = MaxMetadataVersion
	}
	if o.ClusterID == "" {
		id, err := record.NewUUID(o.Rand)
		if err != nil {
			return err
		}
		o.ClusterID = id.String()
	}
	return checkFeatures(o.levels())
}

// levels are the feature levels above 0 that are recorded.
func (o *FormatOptions) levels() map[string]int16 {
	levels := DefaultFeatures(o.MetadataVersion)
	maps.Copy(levels, o.Features)
	maps.DeleteFunc(levels, func(_ string, level int16) bool { return level == 0 })
	// kraft.version is a control record, and always 1 for a voter set that stands in the log.
	delete(levels, KRaftVersionFeature)
	return levels
}

func (o *FormatOptions) writeBootstrap(fsys vfs.FS, directory record.UUID) error {
	dir := logDirOf(o.MetadataDir)
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	bootstrap := &Image{Features: o.levels()}
	snap := snapshot{
		id: bootstrapID, headerMs: o.Now().UnixMilli(), kraftVersion: kraftVersionDynamic,
		voters:          soleVoter(o.NodeID, directory, o.Controller),
		metadataVersion: o.MetadataVersion,
		records: func(yield func(stored.Message) bool) {
			if !bootstrap.featureRecords(yield) {
				return
			}
			for _, m := range o.Scram {
				if !yield(m) {
					return
				}
			}
		},
	}
	if _, err := snap.write(fsys, dir, o.Now, o.Rand); err != nil {
		return err
	}
	return fsys.SyncDir(o.MetadataDir)
}

func (o *FormatOptions) writeMeta(fsys vfs.FS, dir string, id record.UUID) error {
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := fsys.SyncDir(filepath.Dir(filepath.Clean(dir))); err != nil {
		return err
	}
	meta := checkpoint.MetaProperties{ClusterID: o.ClusterID, NodeID: o.NodeID, DirectoryID: id, Version: 1}
	return checkpoint.WriteMetaProperties(fsys, filepath.Join(dir, checkpoint.MetaPropertiesFile), meta, o.Now())
}
