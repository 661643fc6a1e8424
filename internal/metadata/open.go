package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// Open loads the newest snapshot and the log behind it, makes this node the leader of a new epoch and, if the
// log has no metadata.version yet, writes the bootstrap records. When it returns, all of that is on disk. What
// it cannot understand it refuses before it writes a byte.
func Open(o Options) (*Store, error) {
	o.setDefaults()
	s := &Store{o: o, dir: logDirOf(o.Dir)}
	l := &loading{reading: newReading(o.FS, o.Dir, o.ClusterID), s: s}
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
	*reading
	s *Store
}

func (l *loading) run() error {
	for _, step := range []func() error{
		l.all, l.accept, l.openLog, l.removeLeftovers, l.lead,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	l.s.snapshots.start(l.s)
	return nil
}

// accept refuses what may not be written to.
func (l *loading) accept() error {
	if err := l.check(l.s.o.NodeID, l.s.o.DirectoryID); err != nil || l.s.o.Accept == nil {
		return err
	}
	found, err := l.found()
	if err != nil {
		return err
	}
	return l.s.o.Accept(found)
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
	if l.cut != nil {
		s.o.Logger.Warn("the end of the metadata log is torn and is cut off", "file", l.cut.File, "position", l.cut.Position, "bytes", l.cut.SizeInBytes, "offset", l.cut.Offset)
	}
	s.log, err = storage.Open(storage.Options{
		FS: s.o.FS, Handles: s.o.Handles, Dir: s.dir,
		TopicPartition: record.TopicPartition{Topic: TopicName}, TopicID: record.MetadataTopicUUID,
		Config: s.o.logConfig(), Now: s.o.Now, Delay: s.o.Delay, OnFailure: s.o.OnFailure, Observe: s.o.Observe,
	})
	if err != nil {
		return err
	}
	end := s.log.LogEndOffset()
	if next := l.image.Offset + 1; end < next {
		s.o.Logger.Warn("the newest snapshot of the metadata is beyond the end of the log, which begins anew there", "dir", s.dir, "snapshot", next, "logEnd", end)
		return s.log.TruncateFullyAndStartAt(next)
	}
	if end != l.end {
		return fmt.Errorf("%w: offset %d was the end before it was opened, %d is it now", ErrDamaged, l.end, end)
	}
	return nil
}

func (l *loading) removeLeftovers() error {
	for _, name := range l.leftovers {
		if err := l.s.o.FS.Remove(filepath.Join(l.s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
