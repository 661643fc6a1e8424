package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Open loads the log in Options.Dir, recovering it if it was not closed in order, and creates an empty one if the
// directory is missing or empty. Sealed segments are neither opened nor read beyond what recovery needs.
func Open(o Options) (*Log, error) {
	o.setDefaults()
	l := &Log{o: o}
	l.dir.Store(&o.Dir)
	l.config.Store(&o.Config)
	l.lastFlushMs.Store(l.nowMs())
	l.mu.expiredMs = l.nowMs()
	defer l.tell()
	if err := l.load(); err != nil {
		if l.segments.Load() != nil {
			l.Abandon()
		}
		if errors.Is(err, ErrInconsistentTopicID) {
			return nil, err
		}
		if vfs.IsShortage(err) && !failedSync(err) {
			return nil, l.short("loading", err)
		}
		return nil, storageError(fmt.Errorf("loading %v: %w", o.TopicPartition, err))
	}
	return l, nil
}

// load does the passes of LogLoader (storage specification 9.2) in their order.
func (l *Log) load() error {
	entries, err := l.readDir()
	if err != nil {
		return err
	}
	files, err := l.tidy(entries)
	if err != nil {
		return err
	}
	created := l.o.New || len(files) == 0
	if l.epochs, err = epoch.Open(l.o.FS, l.path(epoch.File)); err != nil {
		return err
	}
	l.snapshots = producer.OpenSnapshots(l.o.FS, l.Dir(), entries)
	// The id comes before the segments: without it a start that finds them would not know whose they are.
	if err := l.loadTopicID(created); err != nil {
		return err
	}
	if err := l.loadSegments(files); err != nil || !created {
		return err
	}
	// After the files, so that the whole new directory becomes durable.
	if err := l.o.FS.SyncDir(l.Dir()); err != nil || l.o.ParentSynced {
		return err
	}
	return l.o.FS.SyncDir(filepath.Dir(l.Dir()))
}

// readDir lists the directory, which it makes if it is missing.
func (l *Log) readDir() ([]fs.DirEntry, error) {
	entries, err := l.o.FS.ReadDir(l.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.o.FS.MkdirAll(l.Dir(), 0o755)
	}
	return entries, err
}

// loadTopicID reads partition.metadata, or writes it when the id is known and the file is not there.
func (l *Log) loadTopicID(created bool) error {
	if l.o.TopicIDStored {
		l.topicID = l.o.TopicID
		return nil
	}
	path := l.path(checkpoint.PartitionMetadataFile)
	id, err := checkpoint.ReadPartitionMetadata(l.o.FS, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.topicID = l.o.TopicID
		if id = l.o.TopicID; id.IsZero() {
			return nil
		}
		if created {
			return checkpoint.CreatePartitionMetadata(l.o.FS, path, id)
		}
		return checkpoint.WritePartitionMetadata(l.o.FS, path, id)
	case err != nil:
		return err
	case !l.o.TopicID.IsZero() && id != l.o.TopicID:
		return fmt.Errorf("%w: %s belongs to topic id %v, not %v", ErrInconsistentTopicID, l.Dir(), id, l.o.TopicID)
	}
	l.topicID = id
	return nil
}

// loadSegments opens the segments that are there, finds the offsets, and restores the producers.
func (l *Log) loadSegments(files []file) error {
	if len(files) == 0 {
		return l.loadEmpty()
	}
	list := make([]*segment.Segment, len(files))
	for i, f := range files {
		s, err := segment.Open(l.segmentOptions(f.base), f.size)
		if err != nil {
			return err
		}
		if list[i] = s; i > 0 {
			list[i-1].SetUpper(s.Base())
		}
	}
	l.setList(list)
	files, err := l.splitOverflows(files)
	if err != nil {
		return err
	}
	list = l.list()
	ld := loading{l: l, list: list, recoveryPoint: l.o.RecoveryPoint, logStart: max(l.o.LogStartOffset, list[0].Base())}
	if err := ld.run(files); err != nil {
		return err
	}
	if ld.end < l.o.LogStartOffset { // the log ends before what had been deleted already: nothing of it is left to read
		return l.loadBehind(l.o.LogStartOffset)
	}
	return l.publish(&ld)
}

// loadEmpty makes the first segment of a new log.
func (l *Log) loadEmpty() error {
	l.setList(nil)
	l.epochs.ForgetFrom(l.o.LogStartOffset)
	return l.start(l.o.LogStartOffset)
}

// start makes an empty log at o.
func (l *Log) start(o record.Offset) error {
	s, err := segment.Create(l.segmentOptions(o))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setList([]*segment.Segment{s})
	l.mu.producers = producer.New(l.o.ProducerExpiry)
	l.mu.producers.SetMapEnd(o)
	l.drawJitterLocked()
	m := endOf(s, o)
	l.end.Store(m)
	l.hw.Store(m)
	l.logStart.Store(int64(o))
	l.recoveryPoint.Store(int64(o))
	return nil
}

// loadBehind drops everything and goes on at the log start that the checkpoint gives.
func (l *Log) loadBehind(logStart record.Offset) error {
	if bytes := l.SizeInBytes(); bytes > 0 {
		l.event(Event{Kind: SegmentsDropped, File: l.Dir(), Position: -1, Bytes: bytes, From: l.list()[0].Base(), To: logStart})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.restartLocked(logStart, logStart); err != nil {
		return err
	}
	return l.epochs.Clear()
}

// publish makes a loaded log visible.
func (l *Log) publish(ld *loading) error {
	rp := ld.end
	if !l.o.Clean { // recovering has made nothing durable (LOG-5)
		rp = min(rp, ld.recoveryPoint)
	}
	rp, err := l.loadedEpochs(ld, max(rp, ld.logStart))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.producers = ld.producers
	l.drawJitterLocked()
	l.end.Store(endOf(l.active(), ld.end))
	l.logStart.Store(int64(ld.logStart))
	l.hw.Store(at(ld.logStart))
	l.recoveryPoint.Store(int64(rp))
	l.publishTxnsLocked()
	return nil
}

// loadedEpochs brings the leader epochs in line with the log and returns the recovery point: rp, for which they must be
// on disk. Nearly always they are, and nothing is written.
func (l *Log) loadedEpochs(ld *loading, rp record.Offset) (record.Offset, error) {
	l.epochs.ForgetFrom(ld.end)
	l.epochs.TruncateFromStart(ld.logStart)
	err := l.epochs.Save(rp)
	if vfs.IsShortage(err) {
		_ = l.short("recording the leader epochs", err) // told as an event
		return 0, nil                                   // until there is room the next start has to read them in the log
	}
	return rp, err
}
