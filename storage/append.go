package storage

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// Append adds batches. It borrows batch until it returns and may write to it: base offset, leader epoch, and under
// LogAppendTime timestamps.
//
// Client and Coordinator: one batch, which gets its offsets here; a whole batch may be followed by a cut one, which is
// dropped. Replication and RaftLeader: any number of batches whose offsets are final and not below the log end.
//
// A batch that a producer repeats is not appended again: the info then tells where it is. After any other refusal the
// log is as it was. When the error is ErrStorage, the batch may or may not be found after a restart.
func (l *Log) Append(batch []byte, o AppendOptions) (AppendInfo, error) {
	defer l.tell()
	a := appending{AppendOptions: o, nowMs: l.nowMs(), config: l.config.Load()}
	var err error
	if o.Origin == Client {
		err = l.o.Refuse()
	}
	switch {
	case err != nil:
	case o.Origin.assigns():
		err = l.inspect(&a, batch)
	default:
		err = l.examine(&a, batch)
	}
	if err == nil && len(a.bytes) > a.config.SegmentBytes {
		err = fmt.Errorf("%w: %d bytes for %v, a segment has %d", ErrRecordListTooLarge, len(a.bytes), l.o.TopicPartition, a.config.SegmentBytes)
	}
	if err != nil || len(a.bytes) == 0 {
		return l.nothing(), err
	}
	if err := l.learnEpochs(&a); err != nil {
		return l.nothing(), err
	}
	info, err := l.locked(&a)
	// A duplicate too: the first attempt may have been refused because its fsync had to wait.
	if err == nil && int64(info.LastOffset+1-l.SyncedOffset()) >= a.config.FlushMessages {
		if err = l.commit(info.LastOffset + 1); errors.Is(err, errUnsaved) {
			err = nil // the records are durable; what recovery must read until there is room is not the producer's affair
		}
	}
	return info, err
}

// nothing describes an append of no records.
func (l *Log) nothing() AppendInfo {
	return AppendInfo{FirstOffset: record.NoOffset, LastOffset: record.NoOffset, LogAppendTimeMs: record.NoTimestamp,
		MaxTimestamp: record.NoTimestamp, LogStartOffset: l.LogStartOffset()}
}

// appending is one append on its way.
type appending struct {
	AppendOptions
	config *Config
	nowMs  int64
	// bytes are the batches as they are to be stored, but for offsets that are still to be assigned.
	bytes []byte
	// checked is the one batch of an origin that gets its offsets here, header its header.
	checked record.Checked
	header  record.Header
	// first and last are the offsets; set from the start if they are given.
	first, last     record.Offset
	maxTimestamp    int64
	logAppendTimeMs int64
	count           int32
}

// inspect validates the one batch of a client or coordinator, outside of any lock.
func (l *Log) inspect(a *appending, b []byte) error {
	h, err := record.ParseHeader(b)
	if errors.Is(err, record.ErrShort) || err == nil && h.SizeInBytes > len(b) {
		return fmt.Errorf("%w: no whole batch in %d bytes for %v", record.ErrInvalidRecord, len(b), l.o.TopicPartition)
	}
	if err != nil {
		return err
	}
	if rest := b[h.SizeInBytes:]; len(rest) > 0 {
		next, err := record.ParseHeader(rest)
		if err == nil && next.SizeInBytes <= len(rest) {
			return fmt.Errorf("%w: more than one batch for %v", record.ErrInvalidRecord, l.o.TopicPartition)
		}
	}
	c := a.config
	codec, level, keep := c.codec()
	a.checked, err = record.Inspect(record.Batch(b[:h.SizeInBytes:h.SizeInBytes]), record.Validation{
		Client: a.Origin == Client, NowMs: a.nowMs, TimestampType: c.TimestampType,
		BeforeMaxMs: c.TimestampBeforeMaxMs, AfterMaxMs: c.TimestampAfterMaxMs, Compacted: c.CleanupCompact,
		TargetCodec: codec, KeepCodec: keep, Level: level,
		MaxRecordBytes: c.MaxDecompressedMessageBytes, MaxBatchBytes: c.MaxMessageBytes, TopicPartition: l.o.TopicPartition,
	})
	if errors.Is(err, record.ErrBatchTooLarge) {
		return fmt.Errorf("%w: %w", ErrMessageTooLarge, err)
	}
	if err != nil {
		return err
	}
	a.bytes = a.checked.Batch
	a.header = a.checked.Batch.Header()
	a.maxTimestamp, a.logAppendTimeMs, a.count = a.checked.MaxTimestamp, a.checked.LogAppendTimeMs, a.checked.Count
	return nil
}

// examine checks batches whose offsets are given.
func (l *Log) examine(a *appending, b []byte) error {
	a.first, a.last = record.NoOffset, record.NoOffset
	a.maxTimestamp, a.logAppendTimeMs = record.NoTimestamp, record.NoTimestamp
	sc := record.NewScanner(b)
	end := 0
	for sc.Next() {
		h := sc.Batch().Header()
		if a.Origin == Replication && a.LeaderEpoch >= 0 && h.LeaderEpoch > a.LeaderEpoch {
			break // of a leader that the fetch did not mean: it is fetched again
		}
		if err := l.examineBatch(a, sc.Batch(), &h); err != nil {
			return err
		}
		if a.first < 0 {
			a.first = h.BaseOffset
		}
		a.last = h.LastOffset()
		a.maxTimestamp = max(a.maxTimestamp, h.MaxTimestamp)
		a.count += h.Count
		end += len(sc.Batch())
	}
	a.bytes = b[:end]
	return sc.Err()
}

func (l *Log) examineBatch(a *appending, b record.Batch, h *record.Header) error {
	if h.LastOffset() <= a.last || h.BaseOffset > h.LastOffset() {
		return fmt.Errorf("%w: offsets %d to %d after %d in an append to %v",
			ErrOutOfOrderAppend, h.BaseOffset, h.LastOffset(), a.last, l.o.TopicPartition)
	}
	if a.Origin == RaftLeader {
		if h.LeaderEpoch != a.LeaderEpoch {
			return fmt.Errorf("%w: leader epoch is %d, it should be %d", record.ErrInvalidRecord, h.LeaderEpoch, a.LeaderEpoch)
		}
		if h.SizeInBytes > a.config.MaxMessageBytes {
			return fmt.Errorf("%w: %d bytes, at most %d are accepted", ErrMessageTooLarge, h.SizeInBytes, a.config.MaxMessageBytes)
		}
	}
	return b.CheckCRC()
}

// learnEpochs enters leader epochs that are new here. It comes before the lock is taken since clearing them fsyncs; as a
// leader tells its epoch before its first append, there is normally nothing to do.
func (l *Log) learnEpochs(a *appending) error {
	if a.Origin.assigns() {
		if latest, _ := l.epochs.Latest(); a.LeaderEpoch > latest.Epoch {
			return l.AssignLeaderEpoch(a.LeaderEpoch)
		}
		return nil
	}
	if a.first < l.LogEndOffset() {
		return nil // will be refused
	}
	sc := record.NewScanner(a.bytes)
	for sc.Next() {
		h := sc.Batch().Header()
		latest, known := l.epochs.Latest()
		var err error
		switch {
		case h.Magic < 2 && known:
			err = l.epochs.Clear()
		case h.LeaderEpoch >= 0 && h.LeaderEpoch != latest.Epoch:
			err = l.epochs.Assign(h.LeaderEpoch, h.BaseOffset)
		}
		if err != nil {
			return l.fail("recording the leader epoch", err)
		}
	}
	return nil
}

func (l *Log) locked(a *appending) (AppendInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return l.nothing(), err
	}
	l.maybeExpireLocked(a.nowMs)
	end := l.end.Load()
	if a.Origin.assigns() {
		a.first, a.last = end.offset, end.offset+record.Offset(a.count)-1
		a.header.BaseOffset = a.last - record.Offset(a.header.LastOffsetDelta)
	} else if a.first < end.offset {
		return l.nothing(), fmt.Errorf("%w: offset %d is below the end %d of %v", ErrOutOfOrderAppend, a.first, end.offset, l.o.TopicPartition)
	}
	if info, ok := l.duplicateLocked(a); ok {
		return info, nil
	}
	if err := l.stageLocked(a); err != nil {
		l.mu.producers.Discard()
		return l.nothing(), err
	}
	if err := l.writeLocked(a); err != nil {
		l.mu.producers.Discard()
		return l.nothing(), err
	}
	return AppendInfo{FirstOffset: a.first, LastOffset: a.last, LogAppendTimeMs: a.logAppendTimeMs, LogStartOffset: l.LogStartOffset(),
		MaxTimestamp: a.maxTimestamp, Count: a.count, SizeInBytes: len(a.bytes)}, nil
}

// duplicateLocked answers a client's batch that is in the log already.
func (l *Log) duplicateLocked(a *appending) (AppendInfo, bool) {
	if a.Origin != Client || !a.header.HasProducerID() {
		return AppendInfo{}, false
	}
	b, ok := l.mu.producers.Duplicate(&a.header)
	if !ok {
		return AppendInfo{}, false
	}
	return AppendInfo{FirstOffset: b.FirstOffset(), LastOffset: b.LastOffset, LogAppendTimeMs: b.Timestamp, LogStartOffset: l.LogStartOffset(),
		MaxTimestamp: b.Timestamp, Count: b.OffsetDelta + 1, SizeInBytes: len(a.bytes), Duplicate: true}, true
}

// stageLocked checks the producers of all batches.
func (l *Log) stageLocked(a *appending) error {
	rules := l.rules(a.AppendOptions)
	if a.Origin.assigns() {
		return l.stageBatchLocked(&a.header, a.checked.Batch, rules)
	}
	for rest := a.bytes; len(rest) > 0; {
		h, err := record.ParseHeader(rest)
		if err != nil {
			return err
		}
		if err := l.stageBatchLocked(&h, rest[:h.SizeInBytes], rules); err != nil {
			return err
		}
		rest = rest[h.SizeInBytes:]
	}
	return nil
}

func (l *Log) stageBatchLocked(h *record.Header, b record.Batch, rules producer.Rules) error {
	if !h.HasProducerID() {
		return nil
	}
	var marker *record.EndTxnMarker
	if h.IsControl() && h.Count > 0 {
		var err error
		if marker, err = segment.Marker(b); err != nil {
			return err
		}
	}
	return l.mu.producers.Stage(h, marker, rules)
}

// writeLocked rolls if need be, writes, and publishes (LOG-2).
func (l *Log) writeLocked(a *appending) error {
	s, err := l.maybeRollLocked(a)
	if err != nil {
		return err
	}
	if !s.Fits(a.last) {
		return fmt.Errorf("%w: offset %d is more than 2^31-1 above %d, where the append begins", ErrOutOfOrderAppend, a.last, s.Base())
	}
	if a.Origin.assigns() {
		a.bytes = a.checked.Assign(a.first, a.LeaderEpoch)
	}
	if err := s.Append(a.bytes, a.config.IndexIntervalBytes); err != nil {
		return l.failUnlessShort("appending", err)
	}
	next := a.last + 1
	txns := l.mu.producers.Commit(next, a.nowMs)
	for _, t := range txns {
		if !t.Aborted {
			continue
		}
		if err := s.AppendAborted(abortedTxn(t)); err != nil {
			return l.fail("indexing an aborted transaction", err)
		}
	}
	l.publishTxnsLocked()
	l.end.Store(endOf(s, next))
	return nil
}
