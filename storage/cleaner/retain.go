package cleaner

import (
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// retention decides what stays of a log (Cleaner.cleanInto, MemoryRecords.filterTo).
type retention struct {
	reader *reader
	keys   *offsetMap
	txns   *txns
	// producers are those the log remembers: their last batch must stay, with its sequence (KAFKA-5490).
	producers map[record.ProducerID]producer.Entry
	// highWatermark: the batch that ends there must stay, so that no start finds a lower log end (KAFKA-17076).
	highWatermark record.Offset
	nowMs         int64
	// deleteRetentionMs is how long tombstones and markers stay from the pass on that first finds them removable.
	deleteRetentionMs int64
	level             func(record.Codec) int

	// legacyTombstones: tombstones of magic 0 and 1 in the segment at hand stay.
	legacyTombstones bool
	keep             []bool // of the records of the batch at hand
	stats            *Stats
}

// outcome is what becomes of a batch.
type outcome struct {
	// batch is what to write, nil for nothing; it may be the one that was given.
	batch record.Batch
	// aborted is the transaction index entry that goes with an abort marker.
	aborted *index.AbortedTxn
}

// apply decides about one batch. It borrows the bytes, and lends them in the outcome.
func (r *retention) apply(c *checked) (outcome, error) {
	b, h := c.batch, &c.header
	useless, aborted, err := r.follow(b, h)
	if err != nil {
		return outcome{}, err
	}
	horizon, hasHorizon := h.DeleteHorizon()
	drop := useless
	if h.IsControl() {
		drop = useless && hasHorizon && horizon <= r.nowMs
	}
	keepEmpty := r.isLastOfProducer(h) || h.NextOffset() == r.highWatermark
	if drop {
		r.stats.RecordsRead += int64(max(0, h.Count))
		return outcome{batch: emptied(h, keepEmpty)}, nil
	}
	kept, tombstones, all, err := r.choose(c)
	if err != nil {
		return outcome{}, err
	}
	if kept == 0 {
		return outcome{batch: emptied(h, keepEmpty)}, nil
	}
	r.stats.RecordsKept += int64(kept)
	newHorizon := !hasHorizon && (tombstones || h.IsControl() && useless)
	if all && !newHorizon && h.Magic >= 2 {
		return outcome{batch: b, aborted: aborted}, nil
	}
	if newHorizon {
		horizon, hasHorizon = r.nowMs+r.deleteRetentionMs, true
	}
	if !hasHorizon {
		horizon = record.NoTimestamp
	}
	out, err := r.rebuild(b, h, horizon)
	return outcome{batch: out, aborted: aborted}, err
}

// follow lets the transactions see the batch. useless: a data batch that was aborted, or a control batch that ends
// nothing any more.
func (r *retention) follow(b record.Batch, h *record.Header) (useless bool, aborted *index.AbortedTxn, err error) {
	if !h.IsControl() {
		return r.txns.data(h), nil, nil
	}
	marker, err := segment.Marker(b)
	if err != nil {
		return false, nil, err
	}
	useless, aborted = r.txns.control(h, marker)
	return useless, aborted, nil
}

// isLastOfProducer reports whether the producer's last sequence, or its epoch, is known from this batch alone.
func (r *retention) isLastOfProducer(h *record.Header) bool {
	p, ok := r.producers[h.ProducerID]
	switch {
	case !ok || !h.HasProducerID():
		return false
	case p.LastOffset >= 0:
		return h.LastOffset() == p.LastOffset
	}
	return h.IsControl() && h.ProducerEpoch == p.ProducerEpoch
}

// timestampTypeBit is the attribute that says LogAppendTime in magic 1 and 2.
const timestampTypeBit record.Attributes = 1 << 3

// emptied is what stays of a batch without records.
func emptied(h *record.Header, keep bool) record.Batch {
	if !keep {
		return nil
	}
	e := *h
	if h.Magic < 2 {
		e.Attributes &= timestampTypeBit // of the others, older formats know the codec only
	}
	return record.NewEmptyBatch(e)
}

// choose marks the records that stay.
func (r *retention) choose(c *checked) (kept int, tombstones, all bool, err error) {
	r.keep = r.keep[:0]
	control := c.header.IsControl()
	err = r.reader.entries(c, func(e entry) bool {
		keep := control || r.keeps(e, &c.header)
		r.keep = append(r.keep, keep)
		if keep {
			kept++
			tombstones = tombstones || e.tombstone && !control
		}
		return true
	})
	r.stats.RecordsRead += int64(len(r.keep))
	return kept, tombstones, kept == len(r.keep), err
}

// keeps decides about one data record.
func (r *retention) keeps(e entry, h *record.Header) bool {
	if e.offset > r.keys.latest {
		return true
	}
	if e.keyless { // from before the topic was compacted
		return false
	}
	if o, ok := r.keys.get(e.key); ok && e.offset < o {
		return false
	}
	if !e.tombstone {
		return true
	}
	if h.Magic < 2 {
		return r.legacyTombstones
	}
	horizon, ok := h.DeleteHorizon()
	return !ok || r.nowMs < horizon
}

// rebuild writes the marked records as a magic 2 batch with the codec, the producer and, unless the format was an older
// one, the range of offsets that it had.
func (r *retention) rebuild(b record.Batch, h *record.Header, horizonMs int64) (record.Batch, error) {
	o := record.BuilderOptions{
		BaseOffset: h.BaseOffset, Codec: h.Codec(), Level: r.level(h.Codec()),
		TimestampType: record.CreateTime, LogAppendTimeMs: h.MaxTimestamp,
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence,
		Transactional: h.IsTransactional(), Control: h.IsControl(), LeaderEpoch: h.LeaderEpoch, DeleteHorizonMs: horizonMs,
	}
	if h.TimestampType() == record.LogAppendTime {
		o.TimestampType = record.LogAppendTime
	}
	rs := b.Records(r.reader.maxRecordBytes)
	defer rs.Close()
	var out *record.Builder
	for i := 0; rs.Next(); i++ {
		if !r.keep[i] {
			continue
		}
		rec := rs.Record()
		if out == nil {
			if h.Magic < 2 { // the base offset of a compressed one is that of its last message
				o.BaseOffset = rec.Offset
			}
			out = record.NewBuilder(o)
		}
		out.AppendAt(rec.Offset, rec.Timestamp, rec.Key, rec.Value, rec.Headers)
	}
	if err := rs.Err(); err != nil {
		return nil, err
	}
	if h.Magic >= 2 {
		out.ExtendTo(h.LastOffset())
	}
	return out.Build(), nil
}
