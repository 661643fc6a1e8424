package storage

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// segmentsOf makes a log of one segment per timestamp, the last one active, all committed.
func (w *world) segmentsOf(timestamps ...int64) *Log {
	w.t.Helper()
	l := w.open()
	for i, ts := range timestamps {
		if i > 0 {
			if err := l.Roll(); err != nil {
				w.t.Fatal(err)
			}
		}
		w.append(l, batchOf(ts, "0123456789"), AppendOptions{LeaderEpoch: 0})
	}
	l.SetHighWatermark(l.LogEndOffset())
	w.pass(0)
	return l
}

// TestT05RetentionRules lists what retention keeps and what not, at the boundaries. Each segment has one record; the clock
// stands at startMs + 1000.
func TestT05RetentionRules(t *testing.T) {
	one := int64(len(batchOf(startMs, "0123456789")))
	for _, test := range []struct {
		name       string
		timestamps []int64
		change     func(c *Config)
		logStart   record.Offset
		hw         record.Offset // -1: all
		want       record.Offset // first base that stays
	}{
		{"exactly as old as allowed", []int64{0, 1}, func(c *Config) { c.RetentionMs = 1000 }, 0, -1, 0},
		{"a millisecond older", []int64{0, 1}, func(c *Config) { c.RetentionMs = 999 }, 0, -1, 1},
		{"an old one behind a young one stays", []int64{900, 0, 900}, func(c *Config) { c.RetentionMs = 500 }, 0, -1, 0},
		{"the future keeps", []int64{5000, 0, 0}, func(c *Config) { c.RetentionMs = 500 }, 0, -1, 0},
		{"no limit", []int64{0, 0}, func(c *Config) { c.RetentionMs = -1 }, 0, -1, 0},
		{"size: exactly what may stay", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs, c.RetentionBytes = -1, 2*one }, 0, -1, 1},
		{"size: one byte more may stay", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs, c.RetentionBytes = -1, 2*one+1 }, 0, -1, 0},
		{"size 0", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs, c.RetentionBytes = -1, 0 }, 0, -1, 3},
		{"not committed", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs = 1 }, 0, 1, 1},
		{"nothing committed", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs = 1 }, 0, 0, 0},
		{"log start", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs = -1 }, 2, -1, 2},
		{"log start inside of no segment but the last", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs = -1 }, 3, -1, 2},
		{"only compacted: log start counts", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs, c.CleanupDelete = 1, false }, 1, -1, 1},
		{"compacted and deleted: all count", []int64{0, 0, 0}, func(c *Config) { c.RetentionMs, c.CleanupCompact = 1, true }, 1, -1, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			for i := range test.timestamps {
				test.timestamps[i] += startMs
			}
			l := w.segmentsOf(test.timestamps...)
			if test.hw >= 0 { // it never goes back, but a restart forgets it
				w.close(l)
				l = w.open(clean)
				l.SetHighWatermark(test.hw)
			}
			defer l.Abandon()
			if err := l.DeleteRecords(test.logStart); err != nil {
				t.Fatal(err)
			}
			c := l.Config()
			test.change(&c)
			l.SetConfig(c)
			w.pass(time.Second)
			n, err := l.DeleteOldSegments()
			if err != nil {
				t.Fatal(err)
			}
			if first := l.Segments()[0].BaseOffset; first != test.want || l.LogStartOffset() != max(test.want, test.logStart) || n != int(test.want) {
				t.Errorf("%d deleted, first segment %d, log start %d; want %d", n, first, l.LogStartOffset(), test.want)
			}
			if n, err := l.DeleteOldSegments(); n != 0 || err != nil {
				t.Errorf("once more deleted %d, %v", n, err)
			}
		})
	}
}

// TestT10ActiveSegmentExpires: a log with little traffic does not keep its last records for ever.
func TestT10ActiveSegmentExpires(t *testing.T) {
	w := newWorld(t)
	w.config.RetentionMs, w.config.FileDeleteDelayMs = 1000, 5000
	l := w.segmentsOf(startMs)
	w.pass(2 * time.Second)
	held, err := l.Read(0, HighWatermark, 100, true)
	if err != nil || held.Region.Length == 0 {
		t.Fatal(err)
	}
	if n, err := l.DeleteOldSegments(); n != 1 || err != nil || l.LogStartOffset() != 1 {
		t.Errorf("%d deleted, %v, log start %d", n, err, l.LogStartOffset())
	}
	if _, err := l.Read(0, HighWatermark, 100, true); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("read of what is deleted: %v", err)
	}
	// Whoever holds a region goes on, even after the file is unlinked; others see renamed files until then.
	deleted := func() (n int) {
		for name := range w.files(l.Dir()) {
			if strings.HasSuffix(name, ".deleted") {
				n++
			}
		}
		return n
	}
	w.pass(0)
	if n := deleted(); n != 3 {
		t.Errorf("%d files are marked as deleted, want 3", n)
	}
	w.pass(5 * time.Second)
	if n := deleted(); n != 0 {
		t.Errorf("%d files marked as deleted are left", n)
	}
	b := make(record.Batch, held.Region.Length)
	if err := held.Region.ReadInto(b); err != nil || b.CheckCRC() != nil {
		t.Errorf("the held region: %v", err)
	}
	held.Region.Release()
	w.append(l, batchOf(startMs, "next"), AppendOptions{})
	w.close(l)
	if l = w.open(clean); l.LogStartOffset() != 1 || l.LogEndOffset() != 2 {
		t.Errorf("after a restart: %+v", l.Offsets())
	}
	l.Abandon()
}

func TestDeleteRecordsBounds(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	w.append(l, batchOf(startMs, "a", "b", "c"), AppendOptions{LeaderEpoch: 1})
	l.SetHighWatermark(2)
	for o, want := range map[record.Offset]error{-1: ErrOffsetOutOfRange, 3: ErrOffsetOutOfRange, 2: nil, 1: nil} {
		if err := l.DeleteRecords(o); !errors.Is(err, want) {
			t.Errorf("delete up to %d: %v, want %v", o, err, want)
		}
	}
	// The log start lies inside a batch, which a reader gets whole.
	info, err := l.Read(2, LogEnd, 100, true)
	if err != nil || info.FirstOffset != 0 || l.LogStartOffset() != 2 || l.RecoveryPoint() != 0 {
		t.Errorf("%+v, %v, recovery point %d", info, err, l.RecoveryPoint())
	}
	info.Region.Release()
	if e, _ := l.EarliestEpochEntry(); e.StartOffset != 2 || e.Epoch != 1 {
		t.Errorf("%+v", e)
	}
}

// TestR17FlushRacesWithDelete: files that vanish under a flush are no failure.
func TestR17FlushRacesWithDelete(t *testing.T) {
	w := newWorld(t)
	w.config.RetentionMs, w.config.FileDeleteDelayMs = 1000, 0
	l := w.open()
	defer l.Abandon()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 60 {
			if err := l.Flush(l.LogEndOffset()); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 60 {
		w.append(l, batchOf(startMs-5000, "a"), AppendOptions{})
		l.SetHighWatermark(l.LogEndOffset())
		if _, err := l.DeleteOldSegments(); err != nil {
			t.Error(err)
		}
		w.pass(0)
	}
	<-done
	if l.Err() != nil || len(w.failed) > 0 {
		t.Error(l.Err())
	}
	if err := l.Delete(); err != nil {
		t.Error(err)
	}
	if _, err := w.fs.Stat(l.Dir()); err == nil {
		t.Error("the directory is still there")
	}
	if _, err := l.Append(batchOf(startMs, "a"), AppendOptions{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := l.Read(l.LogStartOffset(), LogEnd, 1, true); l.LogStartOffset() < l.LogEndOffset() && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.config.FileDeleteDelayMs = 1000
	l := w.segmentsOf(startMs, startMs, startMs)
	if err := l.DeleteRecords(1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.DeleteOldSegments(); err != nil {
		t.Fatal(err)
	}
	if err := l.Rename("/data/t-0.0123456789abcdef0123456789abcdef-delete"); err != nil {
		t.Fatal(err)
	}
	w.append(l, batchOf(startMs, "later"), AppendOptions{LeaderEpoch: 4})
	if err := l.Roll(); err != nil {
		t.Fatal(err)
	}
	w.pass(2 * time.Second)
	if got := w.contents(l); len(got) != 3 {
		t.Errorf("%q", got)
	}
	for name := range w.files(l.Dir()) {
		if strings.HasSuffix(name, ".deleted") {
			t.Errorf("%s was not unlinked", name)
		}
	}
	if _, err := w.fs.Stat("/data/t-0"); err == nil {
		t.Error("the old directory is still there")
	}
	w.close(l)
	l = w.open(clean, func(o *Options) { o.Dir = l.Dir() })
	if len(w.contents(l)) != 3 || l.Err() != nil {
		t.Error("contents after the rename")
	}
	if err := l.Delete(); err != nil {
		t.Error(err)
	}
}

func TestTopicID(t *testing.T) {
	w := newWorld(t)
	one, two := record.UUID{15: 200}, record.UUID{15: 201}
	with := func(id record.UUID) func(*Options) { return func(o *Options) { o.TopicID = id } }
	l := w.open()
	if !l.TopicID().IsZero() {
		t.Error(l.TopicID())
	}
	w.close(l)
	l = w.open(clean, with(one))
	w.close(l)
	if got := string(readFile(t, w.fs, "/data/t-0/partition.metadata")); got != "version: 0\ntopic_id: "+one.String() {
		t.Errorf("%q", got)
	}
	l = w.open(clean)
	if l.TopicID() != one {
		t.Error(l.TopicID())
	}
	w.close(l)
	o := w.options()
	o.TopicID = two
	if _, err := Open(o); !errors.Is(err, ErrInconsistentTopicID) {
		t.Error(err)
	}
}

// TestTruncate cuts at a batch boundary, inside a batch, in a sealed segment, and beyond the end.
func TestTruncate(t *testing.T) {
	for _, test := range []struct{ to, end, segments record.Offset }{{9, 8, 3}, {8, 8, 3}, {7, 6, 3}, {4, 4, 2}, {3, 2, 1}, {0, 0, 1}, {100, 12, 3}} {
		t.Run(itoa(test.to), func(t *testing.T) {
			w := newWorld(t)
			w.config.IndexIntervalBytes = 0
			l := w.open()
			for i := range 6 {
				if i == 2 || i == 3 {
					_ = l.Roll()
				}
				w.append(l, from{id: 1, seq: record.Sequence(2 * i)}.batch(2), AppendOptions{LeaderEpoch: record.LeaderEpoch(i)})
			}
			l.SetHighWatermark(12)
			if err := l.Flush(12); err != nil {
				t.Fatal(err)
			}
			if err := l.TruncateTo(test.to); err != nil {
				t.Fatal(err)
			}
			o := l.Offsets()
			if o.LogEndOffset != test.end || o.HighWatermark != test.end || l.RecoveryPoint() != test.end || record.Offset(len(l.Segments())) != test.segments {
				t.Errorf("%+v, recovery point %d, segments %+v; want end %d", o, l.RecoveryPoint(), l.Segments(), test.end)
			}
			if e, ok := l.LatestEpoch(); ok != (test.end > 0) || ok && e != record.LeaderEpoch(test.end/2-1) {
				t.Errorf("latest epoch %d, %v", e, ok)
			}
			if p := l.Producers(); test.end > 0 && (len(p) != 1 || p[0].LastSequence != record.Sequence(test.end-1)) {
				t.Errorf("producers %+v", p)
			}
			for _, s := range l.list() {
				if err := s.IndexSanity(); err != nil {
					t.Error(err)
				}
			}
			info := w.append(l, from{id: 1, seq: record.Sequence(test.end)}.batch(1), AppendOptions{LeaderEpoch: 9})
			if info.FirstOffset != test.end {
				t.Errorf("%+v", info)
			}
			w.close(l)
			l = w.open(clean)
			defer l.Abandon()
			if got := w.contents(l); record.Offset(len(got)) != test.end+1 {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestTruncateFully(t *testing.T) {
	w := newWorld(t)
	l := w.segmentsOf(startMs, startMs, startMs)
	if err := l.TruncateFullyAndStartAt(100); err != nil {
		t.Fatal(err)
	}
	if o := l.Offsets(); o != (Offsets{100, 100, 100, 100}) || len(l.LeaderEpochs()) != 0 || len(l.Producers()) != 0 {
		t.Errorf("%+v", o)
	}
	w.append(l, batchOf(startMs, "a"), AppendOptions{LeaderEpoch: 3})
	if err := l.TruncateFullyAndStartAt(100); err != nil { // at a base that exists
		t.Fatal(err)
	}
	w.append(l, batchOf(startMs, "b"), AppendOptions{LeaderEpoch: 3})
	w.pass(time.Hour)
	w.close(l)
	l = w.open(clean)
	defer l.Abandon()
	if got := w.contents(l); len(got) != 1 || got[0] != "100=b" || l.LogStartOffset() != 100 {
		t.Errorf("%q", got)
	}
}

// TestFlushIsShared: of many waiters at one moment few fsync.
func TestFlushIsShared(t *testing.T) {
	syncs := make(chan struct{}, 1000)
	gate := make(chan struct{})
	w := worldOn(t, vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && strings.HasSuffix(op.Path, ".log") {
			syncs <- struct{}{}
			<-gate
		}
		return nil
	}))
	w.config.FlushMessages = 1
	l := w.open()
	defer l.Abandon()
	results := make(chan error)
	appendOne := func() {
		_, err := l.Append(batchOf(startMs, "a"), AppendOptions{})
		results <- err
	}
	go appendOne()
	<-syncs // the first one is fsyncing; all others append meanwhile
	for range 20 {
		go appendOne()
	}
	for l.LogEndOffset() < 21 {
		runtime.Gosched()
	}
	close(gate)
	for range 21 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := len(syncs); n > 2 || l.SyncedOffset() != 21 {
		t.Errorf("%d more fsyncs for 20 appends, fsynced to %d", n, l.SyncedOffset())
	}
	if err := l.RaiseRecoveryPoint(); err != nil || l.RecoveryPoint() != 21 {
		t.Errorf("%v, recovery point %d", err, l.RecoveryPoint())
	}
}
