package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// Found is what the metadata log of a directory says, as it stands on disk.
type Found struct {
	// Image is the state after the last whole batch, without a transaction that was left open.
	Image *Image
	// New: there is neither a log nor a snapshot of one. The directory was formatted and never started, or it is the
	// directory of a node that is no controller, or its metadata is lost.
	New bool
	// Snapshot is the end offset of the newest snapshot, 0 when there is none; EndOffset that of the log.
	Snapshot, EndOffset record.Offset
	// LeaderEpoch is the newest in the log, in the snapshots and in quorum-state; 0 when there was none.
	LeaderEpoch record.LeaderEpoch
	// KRaftVersion is 0 when the voters are configured statically. Voters are those that the log, the snapshots or
	// quorum-state name; nil when none does.
	KRaftVersion int16
	Voters       []int32
	// VoterDirectories are the ids of the metadata directories of Voters; zero where no voter set tells.
	VoterDirectories map[int32]record.UUID
	// Cut is the tail that a start will cut off, as Kafka does; nil when every byte belongs to a whole batch.
	Cut *Cut

	reading *reading
}

// Cut is the torn end of a log: SizeInBytes from byte Position of File on, and all later segments.
type Cut struct {
	File                  string
	Position, SizeInBytes int64
	// Offset is the first offset that is lost or was never written.
	Offset record.Offset
}

// Look reads the metadata in log directory dir, of cluster clusterID, and changes nothing. Records that are not known give
// ErrTooNew, files that contradict each other the errors of Open.
func Look(fsys vfs.FS, dir, clusterID string) (*Found, error) {
	r := newReading(fsys, dir, clusterID)
	if err := r.all(); err != nil {
		return nil, fmt.Errorf("metadata log in %s: %w", r.logDir, err)
	}
	return r.found()
}

// Check returns why Open would refuse the directory for this node: features or voters that do not fit (META-7); nil when it
// would not.
func (f *Found) Check(node int32, directory record.UUID) error {
	return f.reading.check(node, directory)
}

// reading is the metadata of a directory on its way into memory. Nothing is changed by reading it.
type reading struct {
	fs          vfs.FS
	dir, logDir string
	quorum      quorum
	// image is the state of the newest snapshot.
	image     *Image
	leftovers []string
	// bootstrap are the records of a new log; nil: the defaults.
	bootstrap []stored.Message
	state     *quorumState
	replay    replay
	// written are the bytes of the log behind the snapshot, segments the files of the log.
	written  int64
	segments int
	// end and epoch are those of the last whole batch in the log; 0 and -1 without one.
	end   record.Offset
	epoch record.LeaderEpoch
	cut   *Cut
}

func newReading(fsys vfs.FS, dir, clusterID string) *reading {
	return &reading{fs: fsys, dir: dir, logDir: logDirOf(dir), image: emptyImage(clusterID), epoch: record.NoLeaderEpoch}
}

func (r *reading) all() error {
	for _, step := range []func() error{r.readBootstrap, r.readState, r.readLog} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) found() (*Found, error) {
	img, err := r.replay.image()
	if err != nil {
		return nil, err
	}
	f := &Found{
		Image: img, New: r.segments == 0 && r.image.Offset < 0, Snapshot: r.image.Offset + 1, EndOffset: max(r.end, r.image.Offset+1),
		LeaderEpoch: r.newestEpoch(), KRaftVersion: r.quorum.kraftVersion, Voters: r.quorum.voterIDs(r.state),
		VoterDirectories: r.quorum.directories(r.state), Cut: r.cut, reading: r,
	}
	return f, nil
}

// newestEpoch is the newest leader epoch that anything in the directory tells of; 0 when nothing does.
func (r *reading) newestEpoch() record.LeaderEpoch {
	epoch := max(r.image.Epoch, r.epoch, 0)
	if r.state != nil {
		epoch = max(epoch, r.state.LeaderEpoch)
	}
	return epoch
}

func (r *reading) snapshotPath(id snapshotID) string {
	return filepath.Join(r.logDir, id.String()+checkpointSuffix)
}

// readBootstrap looks for the records of a new log where releases have put them: the checkpoint of formatting
// has them since 4.4, bootstrap.checkpoint before.
func (r *reading) readBootstrap() error {
	for _, path := range []string{filepath.Join(r.dir, bootstrapFile), r.snapshotPath(bootstrapID)} {
		var records []stored.Message
		err := readSnapshot(r.fs, path, func(c controlRecord) error {
			r.quorum.control(c, false)
			return nil
		}, func(m []stored.Message) error {
			records = append(records, m...)
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(records) > 0 {
			r.bootstrap = records
		}
	}
	return nil
}

// readState reads the newest snapshot and quorum-state.
func (r *reading) readState() (err error) {
	if r.state, err = readQuorumState(r.fs, filepath.Join(r.logDir, quorumStateFile)); err != nil {
		return err
	}
	ids, leftovers, err := listSnapshots(r.fs, r.logDir)
	if err != nil {
		return err
	}
	r.leftovers = leftovers
	r.replay.fold = newFold(r.image)
	if len(ids) == 0 {
		return nil
	}
	newest := ids[len(ids)-1]
	err = readSnapshot(r.fs, r.snapshotPath(newest), func(c controlRecord) error {
		r.quorum.control(c, true)
		return nil
	}, func(records []stored.Message) error {
		for _, m := range records {
			if err := r.replay.fold.apply(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.replay.control(newest.EndOffset-1, newest.Epoch)
	r.image, err = r.replay.fold.seal()
	return err
}

// check refuses what this program may not write to.
func (r *reading) check(node int32, directory record.UUID) error {
	img, err := r.replay.image()
	if err != nil {
		return err
	}
	levels := img.Features
	if img.MetadataVersion() == 0 {
		levels = bootstrapLevels(r.bootstrap)
	}
	if err := checkFeatures(levels); err != nil {
		return err
	}
	return r.quorum.check(node, directory, r.state)
}
