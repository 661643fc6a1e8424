package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// Open loads the newest snapshot and the log behind it, makes this node the leader of a new epoch and, if the
// log has no metadata.version yet, writes the bootstrap records. When it returns, all of that is on disk. What
// it cannot understand it refuses before it writes a record.
func Open(o Options) (*Store, error) {
	o.setDefaults()
	s := &Store{o: o, dir: logDirOf(o.Dir)}
	l := &loading{s: s, image: emptyImage(o.ClusterID)}
	if err := l.run(); err != nil {
		if s.log != nil {
			s.log.Abandon()
		}
		return nil, fmt.Errorf("metadata log in %s: %w", s.dir, err)
	}
	return s, nil
}

// loading is a Store on its way up.
type loading struct {
	s *Store
	// image is the state of the newest snapshot.
	image     *Image
	leftovers []string
	// bootstrap are the records of a new log; nil: the defaults.
	bootstrap []stored.Message
	state     *quorumState
	replay    replay
	written   int64
}

func (l *loading) run() error {
	for _, step := range []func() error{
		l.readBootstrap, l.readState, l.openLog, l.replayLog, l.check, l.removeLeftovers, l.lead,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	l.s.snapshots.start(l.s)
	return nil
}

// readBootstrap looks for the records of a new log where releases have put them: the checkpoint of formatting
// has them since 4.4, bootstrap.checkpoint before.
func (l *loading) readBootstrap() error {
	s := l.s
	for _, path := range []string{filepath.Join(s.o.Dir, bootstrapFile), s.snapshotPath(bootstrapID)} {
		var records []stored.Message
		err := readSnapshot(s.o.FS, path, func(r controlRecord) error {
			s.quorum.control(r, false)
			return nil
		}, func(m []stored.Message) error {
			records = append(records, m...)
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(records) > 0 {
			l.bootstrap = records
		}
	}
	return nil
}

// readState reads the newest snapshot and quorum-state.
func (l *loading) readState() (err error) {
	s := l.s
	if l.state, err = readQuorumState(s.o.FS, filepath.Join(s.dir, quorumStateFile)); err != nil {
		return err
	}
	ids, leftovers, err := listSnapshots(s.o.FS, s.dir)
	if err != nil {
		return err
	}
	l.leftovers = leftovers
	l.replay.fold = newFold(l.image)
	if len(ids) == 0 {
		return nil
	}
	newest := ids[len(ids)-1]
	err = readSnapshot(s.o.FS, s.snapshotPath(newest), func(r controlRecord) error {
		s.quorum.control(r, true)
		return nil
	}, func(records []stored.Message) error {
		for _, m := range records {
			if err := l.replay.fold.apply(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.replay.control(newest.EndOffset-1, newest.Epoch)
	l.image, err = l.replay.fold.seal()
	return err
}

// logConfig are the settings of the metadata log: neither time nor size retention, batches of up to 8 MiB.
func (o *Options) logConfig() storage.Config {
	c := storage.DefaultConfig()
	c.SegmentBytes, c.SegmentMs = o.SegmentBytes, o.SegmentMs
	c.RetentionBytes, c.RetentionMs = -1, -1
	c.MaxMessageBytes = maxBatchBytes + record.HeaderSize
	return c
}

// openLog opens the log as not closed in order, whatever the last stop was: like Kafka it is always scanned.
func (l *loading) openLog() (err error) {
	s := l.s
	s.log, err = storage.Open(storage.Options{
		FS: s.o.FS, Handles: s.o.Handles, Dir: s.dir,
		TopicPartition: record.TopicPartition{Topic: TopicName}, TopicID: record.MetadataTopicUUID,
		Config: s.o.logConfig(), Now: s.o.Now, Delay: s.o.Delay, OnFailure: s.o.OnFailure, Observe: s.o.Observe,
	})
	if err != nil {
		return err
	}
	next := l.image.Offset + 1
	if end := s.log.LogEndOffset(); end < next {
		s.o.Logger.Warn("the newest snapshot of the metadata is beyond the end of the log, which begins anew there", "dir", s.dir, "snapshot", next, "logEnd", end)
		return s.log.TruncateFullyAndStartAt(next)
	}
	if start := s.log.LogStartOffset(); start > next {
		return fmt.Errorf("%w: it begins at offset %d, the newest snapshot ends at %d", ErrGap, start, next)
	}
	return nil
}

// readBytes is how much of the log is read at once; a batch that is larger comes whole.
const readBytes = 1 << 20

// replayLog applies what stands in the log behind the snapshot.
func (l *loading) replayLog() error {
	next := l.image.Offset + 1
	for end := l.s.log.LogEndOffset(); next < end; {
		info, err := l.s.log.Read(next, storage.LogEnd, readBytes, true)
		if err != nil {
			return err
		}
		b := make([]byte, info.Region.Length)
		err = info.Region.ReadInto(b)
		info.Region.Release()
		if err != nil {
			return err
		}
		scanner := record.NewScanner(b)
		before := next
		for scanner.Next() {
			b := scanner.Batch()
			if b.LastOffset() < next {
				continue
			}
			if err := l.batch(b); err != nil {
				return err
			}
			next = b.LastOffset() + 1
		}
		if err := scanner.Err(); err != nil {
			return err
		}
		if next == before {
			return fmt.Errorf("offset %d: no whole batch can be read", next)
		}
	}
	return nil
}

func (l *loading) batch(b record.Batch) error {
	h := b.Header()
	l.written += int64(len(b))
	if !h.IsControl() {
		records, err := decodeData(b)
		if err != nil {
			return err
		}
		return l.replay.batch(h.BaseOffset, h.LeaderEpoch, records)
	}
	records, err := decodeControl(b)
	if err != nil {
		return err
	}
	for _, r := range records {
		l.s.quorum.control(r, true)
	}
	l.replay.control(h.LastOffset(), h.LeaderEpoch)
	return nil
}

// check refuses what this program may not write to.
func (l *loading) check() error {
	img, err := l.replay.image()
	if err != nil {
		return err
	}
	levels := img.Features
	if img.MetadataVersion() == 0 {
		levels = bootstrapLevels(l.bootstrap)
	}
	if err := checkFeatures(levels); err != nil {
		return err
	}
	return l.s.quorum.check(l.s.o.NodeID, l.s.o.DirectoryID, l.state)
}

func (l *loading) removeLeftovers() error {
	for _, name := range l.leftovers {
		if err := l.s.o.FS.Remove(filepath.Join(l.s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
