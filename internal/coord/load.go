package coord

import (
	"errors"
	"fmt"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// errStopped ends a load whose shard is no longer wanted.
var errStopped = errors.New("stopped")

// load replays the partition from log start to log end. Nobody appends meanwhile: this node leads and the shard
// is not served yet, only transaction markers may come in, and those are read as long as the end moves.
func (s *shard[M]) load() error {
	started := time.Now()
	log := s.part.Log()
	if log == nil {
		return fmt.Errorf("the partition's directory is offline")
	}
	l := loading[M]{shard: s, log: log}
	at := log.LogStartOffset()
	for at < log.LogEndOffset() {
		select {
		case <-s.stop:
			return errStopped
		default:
		}
		next, err := l.read(at)
		if err != nil {
			return err
		}
		if next <= at {
			return fmt.Errorf("nothing can be read at offset %d, and the log ends at %d", at, log.LogEndOffset())
		}
		at = next
	}
	s.parked.written = record.NoOffset
	s.loads.add(time.Since(started))
	if l.records > 0 {
		s.o.Logger.Info("a coordinator partition was read", "topic", s.o.Topic, "partition", s.partition, "epoch", s.epoch,
			"records", l.records, "bytes", l.bytes, "took", time.Since(started))
	}
	return nil
}

type loading[M Machine] struct {
	shard   *shard[M]
	log     *storage.Log
	buf     []byte
	records int
	bytes   int64
}

// read replays the batches of one read from offset at and returns where the next one starts; at itself when
// there is nothing to read.
func (l *loading[M]) read(at record.Offset) (record.Offset, error) {
	info, err := l.log.Read(at, storage.LogEnd, l.shard.o.LoadBufferBytes, true)
	if err != nil {
		return at, err
	}
	defer info.Region.Release()
	if cap(l.buf) < info.Region.Length {
		l.buf = make([]byte, info.Region.Length)
	}
	buf := l.buf[:info.Region.Length]
	if err := info.Region.ReadInto(buf); err != nil {
		return at, err
	}
	next := at
	batches := record.NewScanner(buf)
	for batches.Next() {
		b := batches.Batch()
		h := b.Header()
		if h.LastOffset() >= at {
			if err := l.replay(b, h); err != nil {
				return at, fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
			}
		}
		next = h.NextOffset()
		l.bytes += int64(h.SizeInBytes)
	}
	if err := batches.Err(); err != nil && next == at {
		return at, err
	}
	return next, nil
}

// replay applies one batch. A batch whose bytes are damaged is left out and reported: losing its records harms
// a few groups, refusing the partition would harm them all.
func (l *loading[M]) replay(b record.Batch, h record.Header) error {
	if err := b.CheckCRC(); err != nil {
		l.skip(h, err)
		return nil
	}
	records := b.Records(l.log.Config().MaxDecompressedMessageBytes)
	defer records.Close()
	for records.Next() {
		r := records.Record()
		var err error
		if h.IsControl() {
			err = l.marker(h, r)
		} else {
			err = l.record(h, r)
		}
		if err != nil {
			return err
		}
		l.records++
	}
	if err := records.Err(); err != nil {
		l.skip(h, err)
	}
	return nil
}

func (l *loading[M]) skip(h record.Header, err error) {
	l.shard.o.Logger.Error("damaged records of a coordinator partition are left out", "topic", l.shard.o.Topic,
		"partition", l.shard.partition, "from", h.BaseOffset, "to", h.LastOffset(), "err", err)
}

func (l *loading[M]) record(h record.Header, r record.Record) error {
	id := record.NoProducerID
	if h.IsTransactional() {
		id = h.ProducerID
	}
	if err := l.shard.machine.Replay(Replayed{Offset: r.Offset, ProducerID: id, Key: r.Key, Value: r.Value}); err != nil {
		return fmt.Errorf("record %d: %w", r.Offset, err)
	}
	return nil
}

// marker applies the end of a transaction; other control records mean nothing here.
func (l *loading[M]) marker(h record.Header, r record.Record) error {
	kind, err := record.ParseControlKey(r.Key)
	if err != nil {
		l.skip(h, err)
		return nil
	}
	switch kind {
	case record.ControlCommit:
		l.shard.machine.ReplayMarker(h.ProducerID, true)
	case record.ControlAbort:
		l.shard.machine.ReplayMarker(h.ProducerID, false)
	}
	return nil
}
