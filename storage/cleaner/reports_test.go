package cleaner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// C-01 (KAFKA-17076): the whole log compacted away does not lower its end at the next start.
func TestC01LogEndSurvivesCompaction(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.DeleteRetentionMs = 0 })
	w.put("a=1", "b=1", "a", "b")
	for range 3 {
		w.sealAndClean()
		clear(w.saved) // clean it again although nothing is new
		w.pass(time.Second)
	}
	w.want()
	end := w.log.LogEndOffset()
	// Also when the crash takes the empty active segment with it, whose name would tell the end.
	active := w.log.Segments()[len(w.log.Segments())-1]
	if active.BaseOffset != end || active.SizeInBytes != 0 {
		t.Fatalf("the active segment is %+v", active)
	}
	w.log.Abandon()
	if err := w.fs.Remove(active.Path); err != nil {
		t.Fatal(err)
	}
	w.open()
	if got := w.log.LogEndOffset(); got != end {
		t.Fatalf("the log ends at %d, it ended at %d", got, end)
	}
	w.want()
	if o := w.put("c=1"); o != end {
		t.Fatalf("offset %d was given again", o)
	}
}

// C-02: end markers are not keyed records; committed data stays, aborted data stays away.
func TestC02MarkersAreNoKeyedRecords(t *testing.T) {
	w := start(t)
	a, b := from{id: 1, transactional: true}, from{id: 2, transactional: true}
	w.send(a, "x=a1")
	w.send(b, "y=b1", "z=b1")
	w.end(a, record.ControlCommit)
	w.end(b, record.ControlAbort)
	w.send(b, "y=b2")
	w.send(a, "x=a2", "v=a2")
	w.end(b, record.ControlCommit)
	w.end(a, record.ControlAbort)
	w.send(a, "last=a3")
	w.end(a, record.ControlCommit)
	before := w.latest()
	wantEqual(t, "before", before, map[string]string{"x": "a1", "y": "b2", "last": "a3"})
	for range 3 {
		w.sealAndClean()
		wantEqual(t, "after", w.latest(), before)
		w.pass(25 * time.Hour) // past the horizon of markers
	}
	w.reopen()
	wantEqual(t, "after a restart", w.latest(), before)
}

// C-03 (KAFKA-13194): compaction ends at the last stable offset.
func TestC03LastStableOffsetBounds(t *testing.T) {
	w := start(t)
	w.put("k=1")
	w.roll()
	txn := from{id: 1, transactional: true}
	w.send(txn, "k=2")
	w.roll()
	w.put("k=3", "other=3")
	w.roll()
	w.clean()
	w.want("0:k=1")
	if got := w.contents(storage.LogEnd); !slices.Equal(got, []string{"0:k=1", "1:k=2", "2:k=3", "3:other=3"}) {
		t.Fatalf("%q", got)
	}
	w.end(txn, record.ControlAbort)
	w.sealAndClean()
	w.want("2:k=3", "3:other=3")
}

// C-03: neither beyond the high watermark, where records may still be truncated.
func TestC03HighWatermarkBounds(t *testing.T) {
	w := start(t)
	w.put("k=1")
	w.roll()
	if _, err := w.log.Append(w.batch(plain, "k=2"), storage.AppendOptions{LeaderEpoch: 0}); err != nil {
		t.Fatal(err)
	}
	w.roll()
	w.clean()
	if got := w.contents(storage.LogEnd); !slices.Equal(got, []string{"0:k=1", "1:k=2"}) {
		t.Fatalf("%q", got)
	}
}

// C-04 (KAFKA-13727, KAFKA-8351): a transaction over several segments, and groups, is aborted as a whole; the marker and
// its index entry stay as long as they are needed, also when the map only reaches into the middle of it.
func TestC04TransactionOverSegments(t *testing.T) {
	for _, mapBytes := range []int64{0, 3 * slotSize, 1 << 20} {
		t.Run(fmt.Sprint(mapBytes), func(t *testing.T) {
			w := start(t, func(c *storage.Config) { c.SegmentBytes = 350 })
			w.settings.DedupeBufferBytes, w.settings.IOBufferBytes = mapBytes, 0
			bad, good := from{id: 1, transactional: true}, from{id: 2, transactional: true}
			for i := range 6 {
				w.send(bad, fmt.Sprintf("k%d=bad", i), "same=bad")
				w.send(good, fmt.Sprintf("k%d=good", i), "same=good")
			}
			if n := len(w.log.Segments()); n < 3 {
				t.Fatalf("only %d segments", n)
			}
			w.end(bad, record.ControlAbort)
			w.end(good, record.ControlCommit)
			w.send(bad, "k0=late")
			w.end(bad, record.ControlCommit)
			before := w.latest()
			for range 4 {
				w.sealAndClean()
				wantEqual(t, "after", w.latest(), before)
				for _, r := range w.contents(storage.TxnCommitted) {
					if strings.HasSuffix(r, "=bad") {
						t.Fatalf("aborted record %s is back", r)
					}
				}
				w.put("end=x") // so that something is dirty
				before["end"] = "x"
				w.pass(time.Hour)
			}
		})
	}
}

// C-04: a marker without data before it stays until its horizon has passed, which the first run that finds it so stamps; one
// with data keeps its entry in the transaction index.
func TestC04MarkerGoesAtItsHorizon(t *testing.T) {
	for _, end := range []record.ControlType{record.ControlCommit, record.ControlAbort} {
		w := start(t, func(c *storage.Config) { c.DeleteRetentionMs = 3600 * 1000 })
		p := from{id: 1, transactional: true}
		w.send(p, "k=1")
		marker := w.end(p, end)
		w.send(p, "other=1") // so that the marker is not the last that is known of the producer
		w.end(p, record.ControlCommit)
		w.put("k=2")
		hasMarker := func() bool {
			list, _ := w.batches(storage.LogEnd)
			return slices.ContainsFunc(list, func(b record.Batch) bool { return b.BaseOffset() == marker && b.Count() == 1 })
		}
		steps := []struct {
			after time.Duration
			there bool
		}{{0, true}, {0, true}, {59 * time.Minute, true}, {time.Minute, false}}
		w.roll()
		for i, s := range steps {
			clear(w.saved)
			w.pass(s.after)
			w.clean()
			if hasMarker() != s.there {
				t.Fatalf("%v, step %d: the marker is there: %v", end, i, !s.there)
			}
		}
		w.want("2:other=1", "4:k=2")
	}
}

func TestC04TransactionIndexIsCarriedOver(t *testing.T) {
	w := start(t)
	p := from{id: 1, transactional: true}
	first := w.send(p, "k=1").FirstOffset
	marker := w.end(p, record.ControlAbort)
	w.put("k=2")
	w.roll()
	for range 3 { // the producer's last batch stays, emptied, so the marker is needed
		clear(w.saved)
		w.clean()
		w.pass(48 * time.Hour)
		aborted, err := w.log.Cleaning().Aborted(0, w.log.LogEndOffset())
		if err != nil || len(aborted) != 1 || aborted[0].ProducerID != 1 || aborted[0].FirstOffset != first || aborted[0].LastOffset != marker {
			t.Fatalf("%+v, %v", aborted, err)
		}
	}
	w.send(p, "k=3")
	w.end(p, record.ControlCommit)
	w.put("z=1")
	w.sealAndClean() // now it is not
	clear(w.saved)
	w.clean()
	if aborted, err := w.log.Cleaning().Aborted(0, w.log.LogEndOffset()); err != nil || len(aborted) != 0 {
		t.Fatalf("%+v, %v", aborted, err)
	}
	w.want("3:k=3", "5:z=1")
}

// C-06 (KAFKA-6834, KAFKA-3587): batches beyond a limit that was lowered since, and more keys than the map has room for.
func TestC06LargeBatch(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.MaxMessageBytes, c.SegmentBytes = 8<<20, 16<<20 })
	big := strings.Repeat("x", 5<<20)
	w.put("big="+big, "k=1")
	w.send(plain, "k=2", "also="+big)
	w.setConfig(func(c *storage.Config) { c.MaxMessageBytes = 1 << 20 })
	w.put("k=3")
	w.sealAndClean()
	w.want("0:big="+big, "3:also="+big, "4:k=3")
}

// Records behind what the map covers are left alone, also those without a key.
func TestC06BehindTheMap(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.CleanupCompact = false })
	w.settings.DedupeBufferBytes = 2 * slotSize
	w.put("a=1", "a=2", "b=1", "=none", "a=3")
	w.setConfig(func(c *storage.Config) { c.CleanupCompact = true })
	w.roll()
	w.cleaner.Round()
	w.want("1:a=2", "2:b=1", "3:=none", "4:a=3")
}

func TestC06MapTooSmall(t *testing.T) {
	w := start(t)
	w.settings.DedupeBufferBytes = 50 * slotSize
	want := map[string]string{}
	for round := range 3 {
		for i := range 200 {
			w.put(fmt.Sprintf("key%d=%d", i, round))
			want[fmt.Sprintf("key%d", i)] = fmt.Sprint(round)
		}
	}
	w.roll()
	if !w.cleaner.Round() {
		t.Fatal("nothing was compacted")
	}
	s := w.status()
	if !s.Last.MapFull || s.Last.Keys != 45 || s.FirstDirty != s.Last.To || s.Last.To > 46 {
		t.Fatalf("%+v", s)
	}
	w.clean()
	if n := len(w.contents(storage.LogEnd)); n >= 600 {
		t.Fatalf("%d records are left", n)
	}
	wantEqual(t, "latest", w.latest(), want)
	if s = w.status(); s.CleanableBytes != 0 || s.Runs < 10 {
		t.Fatalf("%+v", s)
	}
}

// C-07 (KAFKA-8522, KIP-534): the horizon of a tombstone is stamped once; when it has come the tombstone goes.
func TestC07DeleteHorizon(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			w := start(t, func(c *storage.Config) { c.DeleteRetentionMs = 10 * 3600 * 1000 })
			f := plain
			f.codec = codec
			w.send(f, "a=1", "b=1")
			w.send(f, "a", "c=1")
			w.sealAndClean()
			w.want("1:b=1", "2:a", "3:c=1")
			first := w.clock().UnixMilli()
			for range 3 {
				w.pass(3 * time.Hour)
				w.put("n=x")
				w.sealAndClean()
				list, _ := w.batches(storage.LogEnd)
				at, ok := list[1].Header().DeleteHorizon()
				if !ok || at != first+10*3600*1000 || list[1].Header().Codec() != codec || list[1].LastOffset() != 3 {
					t.Fatalf("horizon %d %v, %+v", at, ok, list[1].Header())
				}
				rs := list[1].Records(0)
				for rs.Next() {
					if r := rs.Record(); r.Timestamp != startMs {
						t.Fatalf("timestamp %d", r.Timestamp)
					}
				}
			}
			w.pass(time.Hour) // now it has come
			w.put("n=y")
			w.sealAndClean()
			w.want("1:b=1", "3:c=1", "7:n=y")
		})
	}
}

// C-08 (KAFKA-20036): a rewritten batch may be larger than it was, or than the limit; codec and level are kept.
func TestC08RewrittenBatchGrows(t *testing.T) {
	noise := make([]byte, 200<<10)
	src := rand.NewChaCha8([32]byte{1})
	for _, codec := range []record.Codec{record.Zstd, record.Gzip, record.LZ4, record.Snappy} {
		t.Run(codec.String(), func(t *testing.T) {
			w := start(t)
			f := plain
			f.codec = codec
			_, _ = src.Read(noise)
			b := w.batch(f, "gone=1", "stays="+string(noise))
			w.setConfig(func(c *storage.Config) { c.MaxMessageBytes = len(b) })
			w.append(b, storage.Client)
			w.setConfig(func(c *storage.Config) { c.MaxMessageBytes = 1000 }) // nothing of it would be accepted now
			w.put("gone=2")
			w.sealAndClean()
			w.want("1:stays="+string(noise), "2:gone=2")
			list, _ := w.batches(storage.LogEnd)
			if h := list[0].Header(); h.Codec() != codec || h.BaseOffset != 0 || h.LastOffset() != 1 || h.Count != 1 {
				t.Fatalf("%+v", h)
			}
		})
	}
}

// rewriteInto copies all sealed segments into new ones of at most maxBytes and swaps them, as a run does when what it
// writes does not fit into one.
func (w *world) rewriteInto(maxBytes int64) {
	w.t.Helper()
	x, err := examine(w.log, 0, false, w.clock().UnixMilli())
	if err != nil {
		w.t.Fatal(err)
	}
	out := &output{c: x.view, size: 1000, pace: func(int) error { return nil }, maxBytes: maxBytes}
	r := &run{candidate: x, ctx: w.t.Context(), settings: w.settings, throttle: w.cleaner.throttle, keys: newOffsetMap(1<<20, 0.9)}
	r.reader = reader{size: 4096, pace: unpaced}
	keep := &retention{reader: &r.reader, keys: r.keys, txns: newTxns(), stats: &r.stats, level: levels(&w.config)}
	old := x.view.Sealed
	mtime, err := r.fill(out, keep, old, x.firstUncleanable, time.Time{})
	if err := errors.Join(err, out.finish(mtime)); err != nil {
		w.t.Fatal(err)
	}
	if err := x.view.Replace(out.segments, old); err != nil {
		w.t.Fatal(err)
	}
}

// C-08: what does not fit into one segment becomes several.
func TestC08OutputIsSplit(t *testing.T) {
	w := start(t)
	for i := range 100 {
		w.put(fmt.Sprintf("k%d=%0100d", i, i))
	}
	w.roll()
	before := w.contents(storage.LogEnd)
	w.rewriteInto(3000)
	if n := len(w.log.Segments()); n < 5 {
		t.Fatalf("%d segments", n)
	}
	w.want(before...)
	w.reopen()
	w.want(before...)
}

// C-09: a fetch inside a gap gets the next batch that is there, also over whole segments without one.
func TestC09ReadsOverGaps(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.SegmentBytes = 200 })
	for range 10 {
		w.put("k=1", "k=2", "k=3")
	}
	w.put("end=1")
	w.sealAndClean()
	w.want("29:k=3", "30:end=1")
	for at := range record.Offset(31) {
		info, err := w.log.Read(at, storage.TxnCommitted, 1<<20, true)
		if err != nil || info.Region.Length == 0 || info.FirstOffset < min(at, 29) {
			t.Fatalf("at %d: %+v, %v", at, info, err)
		}
		info.Region.Release()
	}
}

// C-10: a record without key is refused as a whole, with its index; one from before the topic was compacted goes.
func TestC10KeylessRecords(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.CleanupCompact = false })
	w.put("=old", "k=1")
	w.setConfig(func(c *storage.Config) { c.CleanupCompact = true })
	_, err := w.log.Append(w.batch(plain, "a=1", "=none"), storage.AppendOptions{})
	var records *record.RecordsError
	if !errors.Is(err, record.ErrInvalidRecord) || !errors.As(err, &records) || len(records.Records) != 1 || records.Records[0].Index != 1 {
		t.Fatalf("%v", err)
	}
	if w.log.LogEndOffset() != 2 {
		t.Fatal("something was written")
	}
	w.sealAndClean()
	w.want("1:k=1")
}

// C-11 (KAFKA-12889): commits in a loop, in tiny segments, stay bounded in bytes and in segments, and it can be seen.
func TestC11ManyCommitsStayBounded(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.SegmentBytes = 400 })
	for i := range 60 {
		for range 10 {
			w.put(fmt.Sprintf("group%d=%d", i%3, i))
		}
		w.clean()
	}
	w.pass(time.Minute)
	w.clean()
	if n, size := len(w.log.Segments()), w.log.SizeInBytes(); n > 5 || size > 2000 {
		t.Fatalf("%d segments with %d bytes", n, size)
	}
	if s := w.status(); s.Runs < 60 || s.LastRun.IsZero() || s.Last.BytesRead == 0 || s.LastError != nil || s.State != Idle {
		t.Fatalf("%+v", s)
	}
	if names := w.names(); len(names) > 30 {
		t.Fatalf("%d files: %q", len(names), names)
	}
}

// C-12 (KAFKA-8335, KAFKA-5490): a producer that was idle over compaction and a restart goes on where it was.
func TestC12IdleProducerGoesOn(t *testing.T) {
	for _, transactional := range []bool{false, true} {
		t.Run(fmt.Sprint(transactional), func(t *testing.T) {
			w := start(t, func(c *storage.Config) { c.DeleteRetentionMs = 0 })
			p := from{id: 7, epoch: 1, transactional: transactional}
			w.send(p, "k=1", "k=2")
			if transactional {
				w.end(p, record.ControlCommit)
			}
			w.put("k=3")
			for range 4 {
				w.sealAndClean()
				w.pass(time.Second)
				w.put("n=1")
			}
			before := w.contents(storage.TxnCommitted)
			if want := w.log.LogEndOffset() - 1; len(before) != 3 || before[2] != fmt.Sprintf("%d:n=1", want) {
				t.Fatalf("%q", before)
			}
			// Without snapshots everything has to come from the log.
			w.log.Abandon()
			for _, n := range w.names() {
				if strings.HasSuffix(n, ".snapshot") {
					if err := w.fs.Remove(dir0 + "/" + n); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.open()
			w.want(before...)
			w.send(p, "k=4")
			if list := w.log.Producers(); len(list) != 1 || list[0].LastSequence != 2 {
				t.Fatalf("%+v", list)
			}
		})
	}
}

// C-12: with transaction version 2 all that is known of an idle producer is the epoch in its last marker.
func TestC12MarkerKeepsTheEpoch(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.DeleteRetentionMs = 0 })
	w.send(from{id: 7, epoch: 1, transactional: true}, "k=1")
	w.end(from{id: 7, epoch: 2}, record.ControlCommit)
	w.put("k=2")
	w.roll()
	for range 4 {
		clear(w.saved)
		w.clean()
		w.pass(time.Second)
	}
	list, _ := w.batches(storage.LogEnd)
	if h := list[0].Header(); len(list) != 2 || h.Count != 0 || !h.IsControl() || h.ProducerEpoch != 2 || h.SizeInBytes != record.HeaderSize {
		t.Fatalf("%d batches, %+v", len(list), h)
	}
}

// C-12: the emptied batch goes when the producer has written again or is forgotten, and blocks nothing before.
func TestC12EmptiedBatchGoes(t *testing.T) {
	w := start(t)
	p := from{id: 7, epoch: 1}
	w.send(p, "k=1")
	w.put("k=2")
	w.sealAndClean()
	list, _ := w.batches(storage.LogEnd)
	if h := list[0].Header(); h.Count != 0 || h.ProducerID != 7 || h.BaseSequence != 0 || h.SizeInBytes != record.HeaderSize {
		t.Fatalf("%+v", h)
	}
	w.pass(25 * time.Hour)
	w.log.ExpireProducers()
	w.put("k=3")
	w.sealAndClean()
	if list, _ = w.batches(storage.LogEnd); len(list) != 1 {
		t.Fatalf("%d batches", len(list))
	}
}

// C-14: a reader that has a region of an old segment finishes on it; the file goes after the delay.
func TestC14SlowReader(t *testing.T) {
	w := start(t)
	w.put("k=1", "k=2", "k=3")
	w.roll()
	info, err := w.log.Read(0, storage.HighWatermark, 1<<20, true)
	if err != nil {
		t.Fatal(err)
	}
	w.clean()
	hasDeleted := func() bool {
		return slices.ContainsFunc(w.names(), func(n string) bool { return strings.HasSuffix(n, segment.DeletedSuffix) })
	}
	if !hasDeleted() {
		t.Fatalf("no old file in %q", w.names())
	}
	w.pass(2 * time.Second)
	if hasDeleted() {
		t.Fatalf("old files are left: %q", w.names())
	}
	buf := make([]byte, info.Region.Length)
	if err := info.Region.ReadInto(buf); err != nil {
		t.Fatal(err)
	}
	info.Region.Release()
	n := 0
	for sc := record.NewScanner(buf); sc.Next(); n++ {
	}
	if n != 3 {
		t.Fatalf("%d batches", n)
	}
	w.want("2:k=3")
}

// C-15: a topic with one record a day is compacted: max.compaction.lag.ms rolls the segment and makes it eligible
// whatever its dirty ratio, min.compaction.lag.ms keeps what is young.
func TestC15CompactionLag(t *testing.T) {
	day := int64(24 * 3600 * 1000)
	w := start(t, func(c *storage.Config) {
		c.MinCleanableDirtyRatio, c.SegmentMs, c.MaxCompactionLagMs, c.MinCompactionLagMs = 1, 365*day, 2*day, day/2
	})
	for i := range 10 {
		w.put(fmt.Sprintf("k=%d", i))
		w.pass(24 * time.Hour)
		w.clean()
		if n := len(w.contents(storage.LogEnd)); n > 5 {
			t.Fatalf("on day %d there are %d records", i, n)
		}
	}
	if w.status().Runs == 0 {
		t.Fatal("it was never compacted")
	}
	if got := w.contents(storage.LogEnd); got[len(got)-1] != "9:k=9" {
		t.Fatalf("%q", got)
	}
}

func TestC15MinLagKeepsYoungRecords(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.MinCompactionLagMs = 3600 * 1000 })
	w.put("k=1", "k=2")
	w.roll()
	w.pass(time.Minute)
	w.put("k=3")
	w.sealAndClean()
	w.want("0:k=1", "1:k=2", "2:k=3")
	w.pass(time.Hour - 30*time.Second)
	w.clean()
	w.want("1:k=2", "2:k=3")
}

// C-16: compaction that has nothing new to do writes nothing.
func TestC16NothingNewNothingWritten(t *testing.T) {
	writes := 0
	fsys := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind.Changes() {
			writes++
		}
		return nil
	})
	w := newWorld(t, fsys)
	w.open()
	defer func() { w.cleaner.Close(); w.log.Abandon() }()
	w.put("k=1", "k=2", "j=1", "j")
	w.sealAndClean()
	w.pass(time.Minute)
	before, runs := writes, w.status().Runs
	for range 5 {
		w.pass(time.Minute)
		w.clean()
	}
	if writes != before || w.status().Runs != runs || runs != 1 {
		t.Fatalf("%d writes, %d runs", writes-before, w.status().Runs)
	}
}
