package storage

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// TestT01FutureTimestampHoldsRetention: one record of the future keeps its segment, and those behind it, as in Kafka; which
// segment it is can be seen, is told once, and DeleteRecords past it lets retention go on.
func TestT01FutureTimestampHoldsRetention(t *testing.T) {
	const future = startMs * 1000 // microseconds taken for milliseconds
	w := newWorld(t)
	w.config.RetentionMs, w.config.TimestampAfterMaxMs = 1000, math.MaxInt64
	l := w.segmentsOf(startMs, future, startMs, startMs)
	defer l.Abandon()
	w.pass(time.Hour)
	for range 3 {
		if _, err := l.DeleteOldSegments(); err != nil {
			t.Fatal(err)
		}
	}
	if l.LogStartOffset() != 1 || len(l.Segments()) != 3 {
		t.Fatalf("log start %d, %d segments", l.LogStartOffset(), len(l.Segments()))
	}
	h, ok := l.Held()
	if !ok || h.BaseOffset != 1 || h.Timestamp != future || h.Path != l.Segments()[0].Path {
		t.Fatalf("held by %+v, %v", h, ok)
	}
	told := 0
	for _, e := range w.events {
		if e.Kind == RetentionHeld {
			told++
			if s := e.String(); !strings.Contains(s, h.Path) || !strings.Contains(s, "offset 2") {
				t.Error(s)
			}
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	if err := l.DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	if _, err := l.DeleteOldSegments(); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.Held(); ok || l.LogStartOffset() != 4 {
		t.Errorf("held: %v, log start %d", ok, l.LogStartOffset())
	}
}

// Nobody is told where retention by time is not at work, nor of the active segment, which a later record may follow.
func TestT01NotHeld(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no limit":  func(c *Config) { c.RetentionMs = -1 },
		"no policy": func(c *Config) { c.RetentionMs, c.CleanupDelete = 1000, false },
	} {
		w := newWorld(t)
		w.config.TimestampAfterMaxMs = math.MaxInt64
		change(&w.config)
		l := w.segmentsOf(startMs*1000, startMs)
		if _, err := l.DeleteOldSegments(); err != nil {
			t.Fatal(err)
		}
		if h, ok := l.Held(); ok || len(w.events) > 0 {
			t.Errorf("%s: %+v, %v", name, h, w.events)
		}
		l.Abandon()
	}
	w := newWorld(t)
	w.config.RetentionMs, w.config.TimestampAfterMaxMs = 1000, math.MaxInt64
	l := w.segmentsOf(startMs * 1000)
	defer l.Abandon()
	if _, err := l.DeleteOldSegments(); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.Held(); ok {
		t.Error("an active segment is called held")
	}
}

// TestT15RetentionBytesPerPartition: retention.bytes is each partition's own and counts whole segments: a sealed one goes
// only when the limit is kept without it. So a partition has at most the limit and one segment less a byte, besides what
// was written since retention was at work, and n partitions have n times that.
func TestT15RetentionBytesPerPartition(t *testing.T) {
	w := newWorld(t)
	one := int64(len(batchOf(startMs, strings.Repeat("x", 100))))
	const perSegment = 5
	w.config.SegmentBytes = int(perSegment * one)
	w.config.RetentionMs, w.config.RetentionBytes = -1, 3*perSegment*one+1
	limit, segmentSize := w.config.RetentionBytes, int64(perSegment)*one
	var logs []*Log
	total := int64(0)
	for p := range int32(10) {
		l := w.open(func(o *Options) {
			o.TopicPartition.Partition = p
			o.Dir = "/data/t-" + string(rune('0'+p))
		})
		defer l.Abandon()
		for range int(p+1) * perSegment {
			w.append(l, batchOf(startMs, strings.Repeat("x", 100)), AppendOptions{})
		}
		l.SetHighWatermark(l.LogEndOffset())
		logs = append(logs, l)
	}
	for p, l := range logs {
		before := l.SizeInBytes()
		if _, err := l.DeleteOldSegments(); err != nil {
			t.Fatal(err)
		}
		size := l.SizeInBytes()
		want := min(before, 4*segmentSize) // three segments are a byte less than the limit, so a fourth stays
		if size != want || size >= limit+segmentSize {
			t.Errorf("partition %d: %d of %d bytes stay, want %d", p, size, before, want)
		}
		total += size
	}
	if worst := int64(len(logs)) * (limit + segmentSize); total <= limit || total > worst {
		t.Errorf("all together %d bytes; the limit of one is %d, the worst case of all %d", total, limit, worst)
	}
}

// TestR11PowerFailureAfterRoll: a new segment, and what replaces or removes files, is in the directory for good before
// anything relies on it: with all unsynced changes lost right after a flush the flushed records are there (KAFKA-3968).
func TestR11PowerFailureAfterRoll(t *testing.T) {
	mem := disk(t)
	w := worldOn(t, mem)
	l := w.open()
	for i := range 6 {
		w.append(l, batchOf(startMs, "v"), AppendOptions{})
		l.SetHighWatermark(l.LogEndOffset())
		if i%2 == 1 {
			if err := l.Roll(); err != nil {
				t.Fatal(err)
			}
		}
		if i == 4 {
			if err := l.DeleteRecords(2); err != nil {
				t.Fatal(err)
			}
			if n, err := l.DeleteOldSegments(); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := l.Flush(l.LogEndOffset()); err != nil {
			t.Fatal(err)
		}
		after := worldOn(t, mem.Crash())
		o := after.options()
		o.RecoveryPoint, o.LogStartOffset = l.RecoveryPoint(), l.LogStartOffset()
		again, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Offsets(); got.LogEndOffset != record.Offset(i+1) || got.LogStartOffset != l.LogStartOffset() {
			t.Errorf("after record %d: %+v", i, got)
		}
		again.Abandon()
	}
	l.Abandon()
	// Without those fsyncs the same loses what was flushed, so the test would see if one was missing.
	mem = disk(t)
	w = worldOn(t, noDirSync{mem})
	l = w.open()
	w.append(l, batchOf(startMs, "v"), AppendOptions{})
	if err := l.Flush(1); err != nil {
		t.Fatal(err)
	}
	l.Abandon()
	l = worldOn(t, mem.Crash()).open()
	defer l.Abandon()
	if l.LogEndOffset() != 0 {
		t.Error("a directory that was not synced kept its files")
	}
}

// noDirSync is a file system that does not sync directories, and says it did.
type noDirSync struct{ vfs.FS }

func (noDirSync) SyncDir(string) error { return nil }
