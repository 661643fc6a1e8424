package explain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Visibility says which offsets consumers can see, and what holds them back.
func (p *Partition) Visibility() string {
	var l lines
	hw, known := p.HighWatermark, "of the checkpoint, which lags some seconds behind a running broker"
	if hw < 0 {
		hw, known = p.LogEnd, "not in a checkpoint; the log's end counts"
	}
	stable, holder := hw, ""
	for _, e := range p.Open {
		if first := int64(e.CurrentTxnFirstOffset); first < stable || holder == "" && first <= stable {
			stable = min(stable, first)
			holder = fmt.Sprintf("the transaction of producer %d, epoch %d, open since offset %d; its last batch is of %s", e.ProducerID, e.ProducerEpoch, first, when(e.LastTimestamp))
		}
	}
	l.add("%s", p.Name)
	l.add("  log start       %d", p.LogStart)
	l.add("  last stable     %d  read_committed consumers see what is below", stable)
	l.add("  high watermark  %d  %s", hw, known)
	l.add("  log end         %d", p.LogEnd)
	l.add("  last record     %d  the last one that a consumer gets; offsets behind it are markers or were compacted", p.LastData)
	if holder != "" {
		l.add("  held back by %s", holder)
	} else {
		l.add("  no open transaction holds consumers back")
	}
	return l.String()
}

// Compaction says which part of the log is clean, and why the rest is or is not compacted (C-11).
func (p *Partition) Compaction(s Settings) string {
	var l lines
	first := max(p.Cleaned, p.LogStart)
	note := ""
	if p.Cleaned < 0 {
		note = " (no entry in the cleaner's checkpoint: it has never been compacted)"
	}
	if p.Cleaned > p.LogEnd {
		first, note = p.LogStart, " (the checkpoint lies behind the log's end, so the cleaner begins anew)"
	}
	limit, why := p.LogEnd, ""
	for _, seg := range p.Segments {
		if seg.Active {
			limit, why = seg.Base, "the active segment is never compacted; it rolls "+rolls(seg, s)
		}
	}
	for _, e := range p.Open {
		if o := int64(e.CurrentTxnFirstOffset); o < limit {
			limit, why = o, fmt.Sprintf("producer %d has a transaction open since offset %d", e.ProducerID, o)
		}
	}
	for _, seg := range p.Segments {
		if s.MinCompactionLag > 0 && !seg.Active && seg.End > first && seg.Base < limit && s.Now.UnixMilli()-seg.Largest < s.MinCompactionLag.Milliseconds() {
			limit, why = seg.Base, "min.compaction.lag.ms keeps newer records"
			break
		}
	}
	clean, dirty := int64(0), int64(0)
	for _, seg := range p.Segments {
		switch {
		case seg.End <= first && !seg.Active:
			clean += seg.Bytes
		case seg.End <= limit && !seg.Active:
			dirty += seg.Bytes
		}
	}
	l.add("%s: %s in %s", p.Name, size(p.Bytes), count(len(p.Segments), "segment"))
	l.add("  clean       up to offset %d, %s%s", first, size(clean), note)
	l.add("  dirty       offsets %d to %d, %s", first, limit-1, size(dirty))
	l.add("  uncleanable from offset %d on, %s: %s", limit, size(p.Bytes-clean-dirty), why)
	switch ratio := float64(dirty) / float64(max(1, clean+dirty)); {
	case !s.Compact:
		l.add("  cleanup.policy does not include compact: nothing is compacted")
	case dirty == 0:
		l.add("  nothing to do: no sealed segment is dirty")
	case p.overdue(first, limit, s):
		l.add("  due: the dirty part has waited for longer than max.compaction.lag.ms=%s. If it stays so, look for \"uncleanable\" in the broker's log", ms(s.MaxCompactionLag))
	case ratio > s.MinDirtyRatio:
		l.add("  due: the dirty part is %.0f %%, above min.cleanable.dirty.ratio=%g. If it stays so, look for \"uncleanable\" in the broker's log", 100*ratio, s.MinDirtyRatio)
	default:
		l.add("  waits: the dirty part is %.0f %%, not above min.cleanable.dirty.ratio=%g", 100*ratio, s.MinDirtyRatio)
	}
	return l.String()
}

// rolls says when the active segment is rolled: by its size, or by the time since its first record when the next one comes.
func rolls(seg Segment, s Settings) string {
	text := fmt.Sprintf("at segment.bytes=%d", s.SegmentBytes)
	if seg.First >= 0 && s.SegmentAge >= 0 && s.SegmentAge < math.MaxInt64 {
		text += fmt.Sprintf(", or with the first record after %s (segment.ms=%s)", when(seg.First+s.SegmentAge.Milliseconds()), ms(s.SegmentAge))
	}
	return text
}

// overdue reports whether max.compaction.lag.ms has passed for a dirty segment.
func (p *Partition) overdue(first, limit int64, s Settings) bool {
	for _, seg := range p.Segments {
		if !seg.Active && seg.End > first && seg.End <= limit && seg.First >= 0 && s.MaxCompactionLag < math.MaxInt64 {
			return s.Now.UnixMilli()-seg.First > s.MaxCompactionLag.Milliseconds()
		}
	}
	return false
}

// Offset says how a read at an offset is served.
func (p *Partition) Offset(target int64) (string, error) {
	var l lines
	i := slices.IndexFunc(p.Segments, func(s Segment) bool { return target < s.End })
	switch {
	case target < p.LogStart:
		return "", fmt.Errorf("offset %d lies below the log start, %d: a consumer gets OFFSET_OUT_OF_RANGE", target, p.LogStart)
	case target >= p.LogEnd || i < 0:
		return "", fmt.Errorf("offset %d lies at or behind the log's end, %d", target, p.LogEnd)
	}
	s := p.Segments[i]
	l.add("offset %d of %s", target, p.Name)
	l.add("  segment   %s (%d of %d), %s, offsets %d to %d", filepath.Base(p.list.Path(s.Base, segment.LogSuffix)), i+1, len(p.Segments), size(s.Bytes), s.Base, s.End-1)
	from, err := p.indexEntry(&l, s.Base, target)
	if err != nil {
		return "", err
	}
	if err := p.batch(&l, s, target, from); err != nil {
		return "", err
	}
	return l.String(), nil
}

// warmEntries is how much of an index's end Kafka looks at first (AbstractIndex), in entries of 8 bytes.
const warmEntries = 8192 / logfile.OffsetEntrySize

// indexEntry finds the entry that a lookup meets.
func (p *Partition) indexEntry(l *lines, base, target int64) (int64, error) {
	path := p.list.Path(base, segment.OffsetIndexSuffix)
	f, err := logfile.Open(p.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		l.add("  index     missing: the segment is read from its start")
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	found, at, n := logfile.OffsetEntry{Offset: base}, -1, 0
	err = logfile.Entries(f, f.SizeInBytes, logfile.OffsetEntrySize, func(i int, raw []byte) (bool, error) {
		e := logfile.ParseOffsetEntry(base, raw)
		if e.Offset <= base && e.Position == 0 {
			return false, nil // padding
		}
		n = i + 1
		if e.Offset <= target {
			found, at = e, i
		}
		return true, nil
	})
	switch {
	case err != nil:
		return 0, err
	case at < 0:
		l.add("  index     no entry at or below it: the segment is read from its start")
	default:
		part := "in the cold part"
		if at >= n-1-warmEntries {
			part = "in the warm end, which every lookup touches"
		}
		l.add("  index     entry %d of %d, %s: offset %d is at byte %d", at+1, n, part, found.Offset, found.Position)
	}
	return int64(found.Position), nil
}

// batch finds the batch and the record.
func (p *Partition) batch(l *lines, s Segment, target, from int64) error {
	f, err := logfile.Open(p.fs, p.list.Path(s.Base, segment.LogSuffix))
	if err != nil {
		return err
	}
	defer f.Close()
	r := logfile.NewReader(f, from, f.SizeInBytes)
	defer r.Close()
	for passed := 0; r.NextHeader(); passed++ {
		if int64(r.Header().LastOffset()) < target {
			r.Skip()
			continue
		}
		if !r.Next() {
			break
		}
		h := r.Header()
		l.add("  scan      %d bytes over %d batches from there", r.Start()-from, passed)
		l.add("  batch     byte %d, %d bytes, offsets %d to %d, %s, %v, leader epoch %d, checksum %s", r.Start(), h.SizeInBytes, h.BaseOffset, h.LastOffset(), count(int(h.Count), "record"), h.Codec(), h.LeaderEpoch, right(r.Valid()))
		p.record(l, r, target)
		return p.transaction(l, h, target)
	}
	return errors.Join(r.Err(), fmt.Errorf("no batch of segment %d holds offset %d", s.Base, target))
}

func right(ok bool) string {
	if ok {
		return "right"
	}
	return "WRONG"
}

func (p *Partition) record(l *lines, r *logfile.Reader, target int64) {
	rs := r.Records(0)
	defer rs.Close()
	for n := 1; rs.Next(); n++ {
		x := rs.Record()
		if int64(x.Offset) == target {
			l.add("  record    number %d of the batch, %s, key %d bytes, value %d bytes, %d headers", n, when(x.Timestamp), len(x.Key), len(x.Value), len(x.Headers))
			return
		}
	}
	if err := rs.Err(); err != nil {
		l.add("  record    cannot be read: %v", err)
		return
	}
	l.add("  record    not there: compaction has removed it; a consumer goes on at the next one")
}

// transaction says whether the batch belongs to a transaction, and how that ended.
func (p *Partition) transaction(l *lines, h *record.Header, target int64) error {
	switch {
	case h.IsControl():
		l.add("  control   consumers never get it")
		return nil
	case !h.IsTransactional():
		return nil
	}
	for _, e := range p.Open {
		if e.ProducerID == h.ProducerID && int64(e.CurrentTxnFirstOffset) <= target {
			l.add("  transaction of producer %d, open since offset %d: read_committed consumers do not see it yet", h.ProducerID, e.CurrentTxnFirstOffset)
			return nil
		}
	}
	for _, s := range p.list.Segments {
		if s.Txn <= 0 {
			continue
		}
		f, err := logfile.Open(p.fs, p.list.Path(s.Base, segment.TxnIndexSuffix))
		if err != nil {
			return err
		}
		aborted := false
		err = logfile.Entries(f, f.SizeInBytes, logfile.TxnEntrySize, func(_ int, raw []byte) (bool, error) {
			e := logfile.ParseAbortedEntry(raw)
			if e.ProducerID == h.ProducerID && int64(e.FirstOffset) <= target && target <= int64(e.LastOffset) {
				aborted = true
				l.add("  transaction of producer %d, offsets %d to %d: aborted; read_committed consumers skip it", e.ProducerID, e.FirstOffset, e.LastOffset)
			}
			return !aborted, nil
		})
		if err := errors.Join(err, f.Close()); err != nil || aborted {
			return err
		}
	}
	l.add("  transaction of producer %d: committed", h.ProducerID)
	return nil
}

// Disk says who uses a log directory, and what could be freed.
func Disk(ctx context.Context, fsys vfs.FS, dir string) (string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return "", err
	}
	type use struct {
		name                             string
		data, indexes, leftover, segment int64
	}
	var all []use
	var free int64
	for _, name := range verify.Partitions(entries) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		list, err := logfile.List(fsys, filepath.Join(dir, name))
		if err != nil {
			continue // deleted meanwhile
		}
		u := use{name: name, segment: int64(len(list.Segments))}
		for _, s := range list.Segments {
			u.data += s.Log
			u.indexes += max(0, s.Index) + max(0, s.Time) + max(0, s.Txn)
		}
		for _, left := range list.Leftovers {
			if info, err := fsys.Stat(filepath.Join(dir, name, left)); err == nil {
				u.leftover += info.Size()
			}
		}
		if strings.HasSuffix(name, "-delete") || strings.HasSuffix(name, "-stray") {
			u.leftover += u.data
		}
		free += u.leftover
		all = append(all, u)
	}
	slices.SortStableFunc(all, func(a, b use) int { return int(min(1, max(-1, b.data-a.data))) })
	var l lines
	if total, usable, err := fsys.Usage(dir); err == nil {
		l.add("%s: %s of %s are free", dir, size(int64(usable)), size(int64(total)))
	}
	sum := int64(0)
	for i, u := range all {
		sum += u.data
		if i < 20 && u.data > 0 {
			l.add("  %-10s %4d %-8s  indexes up to %-10s %s", size(u.data), u.segment, strings.TrimLeft(count(int(u.segment), "segment"), "0123456789 "), size(u.indexes), u.name)
		}
	}
	l.add("  %s in %d partitions", size(sum), len(all))
	l.add("  could be freed: %s of deleted or stray partitions and leftovers; what retention takes shows \"samsa explain retention\"", size(free))
	return l.String(), nil
}
