package storage

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/samsalog/samsa/record"
)

// TestI02OffsetForTimestamp: with timestamps 2, 4, 6, 8, in one batch, in four, and in four segments.
func TestI02OffsetForTimestamp(t *testing.T) {
	for _, how := range []string{"one batch", "four batches", "four segments", "reopened"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			w.config.IndexIntervalBytes = 0
			l := w.open()
			if how == "one batch" {
				w.append(l, stamped(record.None, 2, 4, 6, 8), AppendOptions{LeaderEpoch: 6})
			} else {
				for _, ts := range []int64{2, 4, 6, 8} {
					w.append(l, stamped(record.None, ts), AppendOptions{LeaderEpoch: 6})
					if how != "four batches" {
						_ = l.Roll()
					}
				}
			}
			if how == "reopened" {
				w.close(l)
				l = w.open(clean)
			}
			defer l.Abandon()
			for ts, want := range []record.Offset{0, 0, 0, 1, 1, 2, 2, 3, 3, -1, -1} {
				got, ok, err := l.OffsetForTimestamp(int64(ts))
				if err != nil || ok != (want >= 0) || ok && (got.Offset != want || got.Timestamp != 2*int64(want+1) || got.LeaderEpoch != 6) {
					t.Errorf("timestamp %d: %+v, %v, %v; want offset %d", ts, got, ok, err, want)
				}
			}
		})
	}
}

// TestI01MaxTimestamp: the record with the largest timestamp, not its batch; of equal ones the first.
func TestI01MaxTimestamp(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	if _, ok, err := l.MaxTimestampOffset(); ok || err != nil {
		t.Errorf("an empty log has a largest timestamp: %v", err)
	}
	w.append(l, stamped(record.Gzip, startMs+5, startMs+9, startMs+7, startMs+9), AppendOptions{})
	w.append(l, stamped(record.None, startMs+8, startMs+9), AppendOptions{})
	_ = l.Roll()
	w.append(l, stamped(record.None, startMs+9), AppendOptions{})
	got, ok, err := l.MaxTimestampOffset()
	if !ok || err != nil || got.Offset != 1 || got.Timestamp != startMs+9 {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
}

// TestI03InsideCompressedBatch: the first record, not the batch.
func TestI03InsideCompressedBatch(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	var ts []int64
	for i := range int64(100) {
		ts = append(ts, startMs+10*i)
	}
	w.append(l, stamped(record.Gzip, ts...), AppendOptions{})
	got, ok, err := l.OffsetForTimestamp(startMs + 10*56 - 3)
	if !ok || err != nil || got.Offset != 56 || got.Timestamp != startMs+560 {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	l.SetHighWatermark(100)
	if err := l.DeleteRecords(60); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := l.OffsetForTimestamp(startMs); !ok || err != nil || got.Offset != 60 {
		t.Errorf("below the log start: %+v, %v, %v", got, ok, err)
	}
}

// TestI08TimeIndexUnderConcurrency: appends of unordered timestamps, rolls, and lookups at once leave time indexes that
// rise, and agree with the log.
func TestI08TimeIndexUnderConcurrency(t *testing.T) {
	w := newWorld(t)
	w.config.IndexIntervalBytes, w.config.SegmentBytes = 0, 2000
	l := w.open()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for range 150 {
				if _, err := l.Append(stamped(record.None, startMs+rand.Int64N(1000)), AppendOptions{}); err != nil {
					t.Error(err)
					return
				}
				l.SetHighWatermark(l.LogEndOffset())
			}
		})
	}
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, _, err := l.OffsetForTimestamp(startMs + rand.Int64N(1000)); err != nil {
					t.Error(err)
				}
				if _, _, err := l.MaxTimestampOffset(); err != nil {
					t.Error(err)
				}
				o := l.Offsets()
				if o.LogStartOffset > o.LastStableOffset || o.LastStableOffset > o.HighWatermark || o.HighWatermark > o.LogEndOffset {
					t.Errorf("%+v (LOG-1)", o)
				}
				if o.HighWatermark == 0 {
					continue
				}
				info, err := l.Read(record.Offset(rand.Int64N(int64(o.HighWatermark))), HighWatermark, 300, true)
				if err != nil || info.Region.Length == 0 {
					t.Errorf("read below %d: %+v, %v", o.HighWatermark, info, err)
				}
				info.Region.Release()
			}
		})
	}
	wg.Wait()
	close(done)
	readers.Wait()
	for _, s := range l.list() {
		if err := s.IndexSanity(); err != nil {
			t.Error(err)
		}
	}
	w.close(l)
	l = w.open(clean)
	defer l.Abandon()
	if len(w.events) > 0 {
		t.Error(w.events)
	}
	if got := fmt.Sprint(len(w.contents(l))); got != "300" {
		t.Error(got)
	}
}
