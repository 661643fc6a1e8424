package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// snapshot is everything that goes into a snapshot file.
type snapshot struct {
	id snapshotID
	// headerMs is the append time of the last batch that the state contains.
	headerMs int64
	// kraftVersion above 0 is written, and the voters if they are known.
	kraftVersion int16
	voters       *stored.VotersRecord
	// metadataVersion decides the versions of the records.
	metadataVersion int16
	records         iter.Seq[stored.Message]
}

// write makes the snapshot file durable under its name (META-6): a .part file is written, synced, renamed.
func (s *snapshot) write(fsys vfs.FS, dir string, now func() time.Time, random io.Reader) (sizeBytes int64, err error) {
	var unique [8]byte
	if _, err := io.ReadFull(random, unique[:]); err != nil {
		return 0, fmt.Errorf("random source: %w", err)
	}
	part := filepath.Join(dir, fmt.Sprintf("%s-%d%s", s.id, binary.BigEndian.Uint64(unique[:])>>1, partSuffix))
	f, err := fsys.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, snapshotMode)
	if err != nil {
		return 0, err
	}
	w := snapshotWriter{file: f, epoch: s.id.Epoch, now: now}
	if err = w.all(s); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if err = fsys.Rename(part, filepath.Join(dir, s.id.String()+checkpointSuffix)); err == nil {
			return w.position, fsys.SyncDir(dir)
		}
	}
	return 0, errors.Join(err, fsys.Remove(part))
}

// snapshotWriter appends batches to a file. Offsets count from 0 through the file.
type snapshotWriter struct {
	file     vfs.File
	position int64
	next     record.Offset
	epoch    record.LeaderEpoch
	now      func() time.Time
}

// recordsPerLot is how many records Kafka's snapshot generator hands over at once; a lot is never split.
const recordsPerLot = 1024

func (w *snapshotWriter) all(s *snapshot) error {
	head := []controlRecord{{record.ControlSnapshotHeader, &stored.SnapshotHeaderRecord{LastContainedLogTimestamp: s.headerMs}}}
	if s.kraftVersion > kraftVersionStatic {
		head = append(head, controlRecord{record.ControlKRaftVersion, &stored.KRaftVersionRecord{KRaftVersion: s.kraftVersion}})
	}
	if s.voters != nil {
		head = append(head, controlRecord{record.ControlKRaftVoters, s.voters})
	}
	if err := w.batch(controlBatch(w.next, w.epoch, w.now().UnixMilli(), head...)); err != nil {
		return err
	}
	if err := w.data(s); err != nil {
		return err
	}
	return w.batch(controlBatch(w.next, w.epoch, w.now().UnixMilli(),
		controlRecord{record.ControlSnapshotFooter, new(stored.SnapshotFooterRecord)}))
}

// data writes the records in batches that are closed when the next lot might not fit.
func (w *snapshotWriter) data(s *snapshot) error {
	var b *record.Builder
	var openedMs int64
	var lot [][]byte
	lotBytes := 0
	put := func() error {
		if b != nil && b.Size()+lotBytes > maxBatchBytes {
			if err := w.batch(b.Build()); err != nil {
				return err
			}
			b = nil
		}
		for _, value := range lot {
			if b == nil {
				b, openedMs = newBatch(w.next, w.epoch, false), w.now().UnixMilli()
			}
			b.Append(openedMs, nil, value, nil)
		}
		lot, lotBytes = lot[:0], 0
		return nil
	}
	for m := range s.records {
		value := stored.AppendFrame(nil, m, recordVersion(m, s.metadataVersion))
		lot, lotBytes = append(lot, value), lotBytes+len(value)+maxRecordOverhead
		if len(lot) == recordsPerLot {
			if err := put(); err != nil {
				return err
			}
		}
	}
	if err := put(); err != nil || b == nil {
		return err
	}
	return w.batch(b.Build())
}

// maxRecordOverhead is what a record takes besides its value: six varints and the attributes.
const maxRecordOverhead = 6*binary.MaxVarintLen32 + 1

func (w *snapshotWriter) batch(b record.Batch) error {
	if _, err := w.file.WriteAt(b, w.position); err != nil {
		return err
	}
	w.position += int64(len(b))
	w.next = b.LastOffset() + 1
	return nil
}
