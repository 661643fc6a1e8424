package coord

import (
	"fmt"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// recordOverhead bounds what a record needs besides key and value: length, attributes, timestamp and offset
// delta, two lengths, header count, as varints.
const recordOverhead = 40

// batch collects what operations want written.
type batch struct {
	results []Result
	bytes   int
	records int
}

// sizeOf is the most that records add to a batch.
func sizeOf(records []Record) int {
	n := 0
	for _, r := range records {
		n += recordOverhead + len(r.Key) + len(r.Value)
	}
	return n
}

// step takes a Result: its records wait for flush, together with those of the Results before it.
func (s *shard[M]) step(r Result) {
	if r.Marker != nil || r.Txn != nil && len(r.Records) > 0 {
		s.alone(r)
		return
	}
	if len(r.Records) == 0 {
		if r.Done != nil {
			s.settle(r)
		}
		return
	}
	size, limit := sizeOf(r.Records), s.limit()
	if s.batch.records > 0 && s.batch.bytes+size > limit {
		s.flush()
	}
	if size > limit && r.Divisible {
		s.divide(r, limit)
		return
	}
	s.batch.results = append(s.batch.results, r)
	s.batch.bytes += size
	s.batch.records += len(r.Records)
}

// alone writes a Result whose batch has a producer of its own.
func (s *shard[M]) alone(r Result) {
	s.flush()
	s.batch = batch{results: []Result{r}, records: max(1, len(r.Records))}
	s.flush()
}

// limit is how many bytes of records one batch may hold.
func (s *shard[M]) limit() int {
	if log := s.part.Log(); log != nil {
		return log.Config().MaxMessageBytes - record.HeaderSize
	}
	return 0
}

// divide writes the records of one Result in as many batches as they need. Done hears of the first failure, or
// of the last batch.
func (s *shard[M]) divide(r Result, limit int) {
	var failed error
	for rest := r.Records; len(rest) > 0; {
		n, size := 1, sizeOf(rest[:1])
		for n < len(rest) && size+sizeOf(rest[n:n+1]) <= limit {
			size += sizeOf(rest[n : n+1])
			n++
		}
		part := Result{Records: rest[:n], Applied: r.Applied}
		part.Done = func(err error) Result {
			if failed == nil {
				failed = err
			}
			return Result{}
		}
		rest = rest[n:]
		if len(rest) == 0 && r.Done != nil {
			part.Done = func(err error) Result {
				if failed == nil {
					failed = err
				}
				return r.Done(failed)
			}
		}
		s.batch = batch{results: []Result{part}, records: n}
		s.flush()
	}
}

// flush writes what was collected as one batch, applies it, and completes it once it is committed. What the
// completions leave to be done is done too.
func (s *shard[M]) flush() {
	for s.batch.records > 0 {
		b := s.batch
		s.batch = batch{}
		first, err := s.append(b)
		if err != nil {
			for _, r := range b.results {
				s.finish(r, err)
			}
			continue
		}
		s.apply(b, first)
		for _, r := range b.results {
			s.settle(r)
		}
	}
}

// append writes one batch in the shape of Kafka's coordinators.
func (s *shard[M]) append(b batch) (record.Offset, error) {
	now := s.o.Now().UnixMilli()
	o := storage.AppendOptions{Origin: storage.Coordinator, LeaderEpoch: s.epoch}
	var bytes record.Batch
	switch first := b.results[0]; {
	case first.Marker != nil:
		bytes, o.TxnVersion = first.Marker.Batch(now), first.Marker.TxnVersion
	case first.Txn != nil:
		bytes, o.VerificationGuard = s.build(b, now, first.Txn), first.Txn.Guard
	default:
		bytes = s.build(b, now, nil)
	}
	info, err := s.part.Append(bytes, o)
	if isProducerError(err) {
		return 0, err // the producer's fault, not the partition's
	}
	if err != nil {
		s.o.Logger.Error("a coordinator cannot write its partition", "topic", s.o.Topic, "partition", s.partition, "records", b.records, "err", err)
		return 0, appendError(err, s.o.AppendError)
	}
	s.parked.written = info.LastOffset
	return info.FirstOffset, nil
}

// build makes a batch of records, of the coordinator itself or of a producer's transaction.
func (s *shard[M]) build(b batch, nowMs int64, txn *Txn) record.Batch {
	o := record.DefaultBuilderOptions()
	o.Codec = s.o.Codec()
	o.BaseSequence = s.o.BaseSequence
	o.LeaderEpoch = s.epoch
	o.TimestampType = record.CreateTime
	if txn != nil {
		o.ProducerID, o.ProducerEpoch, o.Transactional, o.BaseSequence = txn.ProducerID, txn.ProducerEpoch, true, 0
	}
	builder := record.NewBuilder(o)
	for _, r := range b.results {
		for _, x := range r.Records {
			builder.Append(nowMs, x.Key, x.Value, nil)
		}
	}
	return builder.Build()
}

// apply replays records that have just been written (COORD-3).
func (s *shard[M]) apply(b batch, first record.Offset) {
	at := first
	for _, r := range b.results {
		if r.Marker != nil {
			s.machine.ReplayMarker(r.Marker.ProducerID, r.Marker.Commit)
			continue
		}
		id := record.NoProducerID
		if r.Txn != nil {
			id = r.Txn.ProducerID
		}
		for _, x := range r.Records {
			if !r.Applied {
				err := s.machine.Replay(Replayed{Offset: at, ProducerID: id, Key: x.Key, Value: x.Value})
				if err != nil { // a machine that does not understand what it wrote itself
					s.o.Logger.Error("a coordinator cannot apply its own record", "topic", s.o.Topic, "partition", s.partition, "offset", at, "err", err)
				}
			}
			at++
		}
	}
}

// finish completes one Result and takes what that leaves to be done.
func (s *shard[M]) finish(r Result, err error) {
	if r.Done == nil {
		return
	}
	s.step(r.Done(err))
}

// committed reports whether a record at offset is below the high watermark.
func (s *shard[M]) committed(offset record.Offset) bool {
	log := s.part.Log()
	return log != nil && log.HighWatermark() > offset
}

// errTimedOut is what completions get whose records were not committed in time.
func errTimedOut(offset record.Offset) error {
	return fmt.Errorf("%w: offset %d was not committed in time", ErrNotAvailable, offset)
}
