package cleaner

import (
	"context"
	"errors"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/storage/throttle"
)

// errAborted: whoever changes the log asked the run to stop, or its topic is no longer compacted.
var errAborted = errors.New("compaction was aborted")

// run is one compaction of one log.
type run struct {
	*candidate
	ctx      context.Context
	settings Settings
	throttle *throttle.Throttle
	nowMs    int64

	keys   *offsetMap
	reader reader
	stats  Stats
}

// do compacts the log and fills in the stats. What it has swapped in before an error stays: each group is consistent by
// itself.
func (r *run) do() error {
	r.keys = newOffsetMap(r.settings.mapBytes(), r.settings.LoadFactor)
	r.reader = reader{size: r.settings.bufferBytes(), maxRecordBytes: r.view.Config.MaxDecompressedMessageBytes, pace: r.pace}
	r.stats.From = r.firstDirty
	if err := r.noteKeys(); err != nil {
		return err
	}
	r.stats.MapBytesRead, r.reader.read = r.reader.read, 0
	r.stats.Keys = r.keys.used
	r.stats.To = r.keys.latest + 1
	return r.rewrite()
}

// pace is asked before every read and write: it holds the run to the rate, and ends it.
func (r *run) pace(ctx context.Context, bytes int) error {
	if err := r.check(); err != nil {
		return err
	}
	if err := r.throttle.Wait(ctx, bytes); err != nil {
		return errAborted
	}
	return nil
}

func (r *run) check() error {
	if r.ctx.Err() != nil || !r.log.Config().CleanupCompact {
		return errAborted
	}
	return r.view.Err()
}

// noteKeys fills the map from the dirty segments, as far as it has room (Cleaner.buildOffsetMap).
func (r *run) noteKeys() error {
	aborted, err := r.view.Aborted(r.firstDirty, r.firstUncleanable)
	if err != nil {
		return err
	}
	t := newTxns()
	t.add(aborted)
	dirty := r.dirty()
	r.keys.latest = r.firstDirty - 1
	for i, s := range dirty {
		next := r.firstUncleanable
		if i+1 < len(dirty) {
			next = dirty[i+1].Base()
		}
		pos, err := s.PositionOf(max(r.firstDirty, s.Base()))
		if err != nil {
			return err
		}
		full, err := r.noteSegment(t, s, pos)
		if err != nil {
			return err
		}
		if full {
			r.stats.MapFull = true
			return nil
		}
		r.keys.reach(next - 1) // over the gap at the segment's end
	}
	return nil
}

// noteSegment notes the keys of a segment from pos on; full: there was no room for one.
func (r *run) noteSegment(t *txns, s *segment.Segment, pos int64) (full bool, err error) {
	for c, err := range r.reader.batches(r.ctx, s, pos) {
		if err != nil {
			return false, err
		}
		if full, err := r.noteBatch(t, c); full || err != nil {
			return full, err
		}
		r.keys.reach(c.header.LastOffset())
	}
	return false, nil
}

func (r *run) noteBatch(t *txns, c *checked) (full bool, err error) {
	if c.header.IsControl() {
		marker, err := segment.Marker(c.batch)
		if err == nil {
			t.control(&c.header, marker)
		}
		return false, err
	}
	if t.data(&c.header) {
		return false, nil
	}
	err = r.reader.entries(c, func(e entry) bool {
		full = !e.keyless && e.offset >= r.firstDirty && !r.keys.put(e.key, e.offset)
		return !full
	})
	return full, err
}

// rewrite replaces the segments up to what the map covers, group by group.
func (r *run) rewrite() error {
	list := r.upTo(r.stats.To)
	sizes := make([]sized, len(list))
	for i, s := range list {
		offsets, times, err := s.IndexBytes()
		if err != nil {
			return err
		}
		sizes[i] = sized{base: s.Base(), log: s.Size(), offsetIndex: offsets, timeIdx: times}
	}
	horizon, err := r.legacyHorizon()
	if err != nil {
		return err
	}
	c := &r.view.Config
	keep := &retention{reader: &r.reader, keys: r.keys, txns: newTxns(), nowMs: r.nowMs, deleteRetentionMs: c.DeleteRetentionMs,
		level: levels(c), stats: &r.stats}
	end := r.firstUncleanable
	for _, n := range pack(sizes, limits{int64(c.SegmentBytes), int64(c.SegmentIndexBytes)}, end) {
		next := end
		if n < len(list) {
			next = list[n].Base()
		}
		if err := r.rewriteGroup(keep, list[:n], next, horizon); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// upTo returns the sealed segments that begin before end.
func (r *run) upTo(end record.Offset) []*segment.Segment {
	list := r.view.Sealed
	n := 0
	for n < len(list) && list[n].Base() < min(end, r.firstUncleanable) {
		n++
	}
	return list[:n]
}

// legacyHorizon is the time of change from which a segment's tombstones of magic 0 and 1, which know no delete horizon, must
// stay: delete.retention.ms before that of the last clean segment.
func (r *run) legacyHorizon() (time.Time, error) {
	clean := r.upTo(r.firstDirty)
	if len(clean) == 0 {
		return time.Time{}, nil
	}
	t, err := clean[len(clean)-1].ModTime()
	return t.Add(-time.Duration(r.view.Config.DeleteRetentionMs) * time.Millisecond), err
}

// levels returns the level that a codec is used with: the topic's if it says so, else Kafka's default.
func levels(c *storage.Config) func(record.Codec) int {
	return func(codec record.Codec) int {
		switch {
		case codec.String() != c.CompressionType:
		case codec == record.Gzip:
			return c.GzipLevel
		case codec == record.LZ4:
			return c.LZ4Level
		case codec == record.Zstd:
			return c.ZstdLevel
		}
		return codec.DefaultLevel()
	}
}

// rewriteGroup writes what stays of some segments and puts it in their place. next is the base of the segment behind.
func (r *run) rewriteGroup(keep *retention, old []*segment.Segment, next record.Offset, legacyHorizon time.Time) error {
	keep.producers = byID(r.view.Producers())
	keep.highWatermark = r.log.HighWatermark()
	pace := func(bytes int) error { return r.pace(r.ctx, bytes) }
	w := &output{c: r.view, size: r.settings.bufferBytes(), pace: pace, maxBytes: segment.MaxSize}
	modTime, err := r.fill(w, keep, old, next, legacyHorizon)
	if err == nil {
		err = w.finish(modTime)
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return errors.Join(err, w.discard())
	}
	if err := r.view.Replace(w.segments, old); err != nil {
		return err
	}
	r.stats.SegmentsRead += len(old)
	r.stats.SegmentsWritten += len(w.segments)
	r.stats.BytesRead += r.reader.read
	r.stats.BytesWritten += w.written
	r.reader.read = 0
	return nil
}

func byID(list []producer.Entry) map[record.ProducerID]producer.Entry {
	m := make(map[record.ProducerID]producer.Entry, len(list))
	for _, p := range list {
		m[p.ProducerID] = p
	}
	return m
}

// fill writes what stays of the old segments and returns when the last of them was changed.
func (r *run) fill(w *output, keep *retention, old []*segment.Segment, next record.Offset, legacyHorizon time.Time) (time.Time, error) {
	if err := w.start(old[0].Base()); err != nil {
		return time.Time{}, err
	}
	var modTime time.Time
	for i, s := range old {
		end := next
		if i+1 < len(old) {
			end = old[i+1].Base()
		}
		aborted, err := r.view.Aborted(s.Base(), end)
		if err != nil {
			return modTime, err
		}
		keep.txns.add(aborted)
		if modTime, err = s.ModTime(); err != nil {
			return modTime, err
		}
		keep.legacyTombstones = modTime.After(legacyHorizon)
		if err := r.filter(w, keep, s); err != nil {
			return modTime, err
		}
	}
	return modTime, nil
}

// filter passes the batches of a segment on.
func (r *run) filter(w *output, keep *retention, s *segment.Segment) error {
	for c, err := range r.reader.batches(r.ctx, s, 0) {
		if err != nil {
			return err
		}
		o, err := keep.apply(c)
		if err != nil {
			return err
		}
		if o.batch == nil {
			continue
		}
		if err := w.add(&o); err != nil {
			return err
		}
	}
	return nil
}
