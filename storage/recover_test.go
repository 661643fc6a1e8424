package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/vfs"
)

// kinds lists the kinds of the events so far, without the announcement of a recovery.
func (w *world) kinds() string {
	var out []string
	for _, e := range w.events {
		if e.Kind != Recovering {
			out = append(out, e.Kind.String())
		}
	}
	return strings.Join(out, ", ")
}

// fill appends single-record batches "0", "1", … and runs what the rolls left to do. With small() that makes segments of
// about five.
func (w *world) fill(l *Log, n int) {
	w.t.Helper()
	for i := range n {
		w.append(l, batchOf(startMs+int64(i), fmt.Sprintf("%02d %40d", i, i)), AppendOptions{LeaderEpoch: 0})
	}
	l.SetHighWatermark(l.LogEndOffset())
	w.pass(0)
}

func (w *world) expect(l *Log, from, to int) {
	w.t.Helper()
	var want []string
	for i := from; i < to; i++ {
		want = append(want, fmt.Sprintf("%d=%02d %40d", i, i, i))
	}
	if got := w.contents(l); !slices.Equal(got, want) {
		w.t.Errorf("the log holds %d records, want %d to %d:\n%q", len(got), from, to-1, got)
	}
}

// TestR01DamagedIndexIsRebuilt: bytes in the middle of a sealed and of the active index are overwritten; after a kill
// everything can be read, and the log's bytes are the same.
func TestR01DamagedIndexIsRebuilt(t *testing.T) {
	w := newWorld(t).small()
	w.config.IndexIntervalBytes = 0
	l := w.open()
	w.fill(l, 50)
	l.Abandon()
	logs := func() map[string][]byte {
		m := w.files(l.Dir())
		maps.DeleteFunc(m, func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".log") })
		return m
	}
	before := logs()
	segments := l.Segments()
	for _, s := range []SegmentInfo{segments[2], segments[len(segments)-1]} {
		patch(t, w.fs, strings.TrimSuffix(s.Path, ".log")+".index", 5, []byte{0, 0, 77, 0, 0, 0, 9})
	}
	l = w.open(recoverFrom(l.RecoveryPoint()))
	w.expect(l, 0, 50)
	for o := range record.Offset(50) {
		info, err := l.Read(o, LogEnd, 1, true)
		if err != nil || info.FirstOffset != o {
			t.Errorf("read at %d: %+v, %v", o, info, err)
		}
		info.Region.Release()
	}
	if got := w.kinds(); got != "index rebuilt" {
		t.Errorf("events: %s", got)
	}
	if e := w.events[len(w.events)-1]; !strings.Contains(e.String(), "no records were touched") {
		t.Error(e)
	}
	sameFiles(t, logs(), before)
	for _, s := range l.list() {
		if err := s.IndexSanity(); err != nil {
			t.Error(err)
		}
	}
	w.close(l)
}

// TestR02EmptyPaddedSegment: an empty active segment whose indexes are still preallocated is nothing to speak of.
func TestR02EmptyPaddedSegment(t *testing.T) {
	w := newWorld(t)
	w.install(kafkaLog(t, "killed/empty-0"))
	l := w.open()
	if len(w.events) != 0 {
		t.Errorf("events: %v", w.events)
	}
	w.fill(l, 3)
	w.close(l)
}

// TestR03PaddedTimeIndex: twelve zero bytes at the end of a sealed time index do not make retention believe that the
// segment is ancient.
func TestR03PaddedTimeIndex(t *testing.T) {
	for name, damage := range map[string]func(old []byte) []byte{
		"padded":     func(old []byte) []byte { return append(old, make([]byte, 12)...) },
		"all zeros":  func(old []byte) []byte { return make([]byte, len(old)) },
		"last entry": func(old []byte) []byte { old[len(old)-9] ^= 0x40; return old },
		"empty":      func([]byte) []byte { return nil },
		"half entry": func(old []byte) []byte { return old[:len(old)-5] },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).small()
			w.config.RetentionMs = 3600 * 1000
			l := w.open()
			w.fill(l, 50)
			w.close(l)
			path := strings.TrimSuffix(l.Segments()[0].Path, ".log") + ".timeindex"
			writeFile(t, w.fs, path, damage(readFile(t, w.fs, path)))
			l = w.open(clean)
			defer l.Abandon()
			l.SetHighWatermark(l.LogEndOffset())
			for range 2 {
				if n, err := l.DeleteOldSegments(); n != 0 || err != nil {
					t.Errorf("%d segments were deleted, %v", n, err)
				}
			}
			w.expect(l, 0, 50)
			if got := w.kinds(); got != "index rebuilt" {
				t.Errorf("events: %s", got)
			}
			if found, ok, err := l.OffsetForTimestamp(startMs + 3); !ok || err != nil || found.Offset != 3 {
				t.Errorf("%+v, %v, %v", found, ok, err)
			}
		})
	}
}

// counting counts the bytes that are read.
type counting struct {
	vfs.FS
	read *atomic.Int64
}

type countingFile struct {
	vfs.File
	read *atomic.Int64
}

func (c counting) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return countingFile{f, c.read}, nil
}

func (c countingFile) ReadAt(b []byte, pos int64) (int, error) {
	n, err := c.File.ReadAt(b, pos)
	c.read.Add(int64(n))
	return n, err
}

// TestR04BytesRead: after a kill the log is read from the recovery point on, not as a whole; after a stop in order only its
// end is.
func TestR04BytesRead(t *testing.T) {
	var read atomic.Int64
	w := worldOn(t, counting{vfs.NewMem(), &read})
	w.config.SegmentBytes = 100 << 10
	fill := func(l *Log, n int) {
		for range n {
			w.append(l, batchOf(startMs, strings.Repeat("x", 1000)), AppendOptions{LeaderEpoch: 0})
		}
		w.pass(0)
	}
	l := w.open()
	fill(l, 2000)
	active := l.active().Size()
	all := l.SizeInBytes()
	l.Abandon()

	read.Store(0)
	l = w.open(recoverFrom(l.RecoveryPoint()))
	if n := read.Load(); n < active || n > active+64<<10 {
		t.Errorf("%d bytes were read to recover an active segment of %d, of %d in all", n, active, all)
	}
	w.close(l)

	read.Store(0)
	l = w.open(clean)
	if n := read.Load(); n > 64<<10 {
		t.Errorf("%d bytes were read of a log that was closed in order", n)
	}
	// A recovery point inside the active segment spares what lies below it.
	rp := l.LogEndOffset()
	fill(l, 3)
	l.Abandon()
	read.Store(0)
	l = w.open(recoverFrom(rp))
	defer l.Abandon()
	if n := read.Load(); n > 40<<10 {
		t.Errorf("%d bytes were read for three batches of 1 KiB above the recovery point", n)
	}
	if l.LogEndOffset() != 2003 {
		t.Errorf("log end %d", l.LogEndOffset())
	}
}

// TestR10DamagedSnapshot: an unreadable snapshot is discarded, an older one used, the log replayed.
func TestR10DamagedSnapshot(t *testing.T) {
	for name, data := range map[string][]byte{"empty": nil, "zeros": make([]byte, 56), "cut": []byte("\x00\x01abc")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).small()
			l := w.open()
			for i := range 12 {
				w.append(l, from{id: 4, seq: record.Sequence(2 * i)}.batch(2), AppendOptions{LeaderEpoch: 0})
				w.pass(0)
			}
			w.close(l)
			writeFile(t, w.fs, "/data/t-0/"+producer.SnapshotName(24), data)
			l = w.open(clean)
			defer l.Abandon()
			if got := w.kinds(); got != "snapshot discarded" {
				t.Errorf("events: %s", got)
			}
			info, err := l.Append(from{id: 4, seq: 22}.batch(2), AppendOptions{})
			if err != nil || !info.Duplicate || info.FirstOffset != 22 {
				t.Errorf("the last batch again: %+v, %v", info, err)
			}
		})
	}
}

// TestR19DamageBelowRecoveryPoint flips a bit, or loses a length field, in data that was flushed. Nothing is cut; all other
// batches can be read.
func TestR19DamageBelowRecoveryPoint(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"payload": func(b []byte) []byte { b[70] ^= 4; return b },
		"length":  func(b []byte) []byte { b[8] ^= 0x40; return b },
		"zeros":   func(b []byte) []byte { clear(b); return b },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.open()
			w.fill(l, 20)
			if err := l.Flush(20); err != nil {
				t.Fatal(err)
			}
			w.fillFrom(l, 20, 25)
			l.Abandon()
			path := l.active().Path()
			log := readFile(t, w.fs, path)
			size := len(log) / 25 // all batches are alike
			copy(log[10*size:11*size], damage(slices.Clone(log[10*size:11*size])))
			writeFile(t, w.fs, path, log)
			// The index is lost too, so that recovery has to read from the beginning.
			writeFile(t, w.fs, strings.TrimSuffix(path, ".log")+".index", []byte{1})

			l = w.open(recoverFrom(20))
			defer l.Abandon()
			if got := w.kinds(); got != "damage kept" {
				t.Errorf("events: %s", got)
			}
			if e := w.events[len(w.events)-1]; e.From != 10 || e.To != 11 || e.Position != int64(10*size) || e.Bytes != int64(size) {
				t.Errorf("%+v", e)
			}
			if got := readFile(t, w.fs, path); !slices.Equal(got, log) {
				t.Error("the log was changed")
			}
			if l.LogEndOffset() != 25 {
				t.Errorf("log end %d", l.LogEndOffset())
			}
			for o := range record.Offset(25) {
				info, err := l.Read(o, LogEnd, 1, true)
				if o == 10 {
					info.Region.Release()
					continue // what a client gets of the broken batch is its to judge by CRC
				}
				if err != nil || info.FirstOffset != o || info.Region.Length != size {
					t.Errorf("read at %d: %+v, %v", o, info, err)
				}
				info.Region.Release()
			}
			w.fillFrom(l, 25, 27)
		})
	}
}

func (w *world) fillFrom(l *Log, from, to int) {
	w.t.Helper()
	for i := from; i < to; i++ {
		if info := w.append(l, batchOf(startMs+int64(i), fmt.Sprintf("%02d %40d", i, i)), AppendOptions{LeaderEpoch: 0}); info.FirstOffset != record.Offset(i) {
			w.t.Errorf("appended at %d, want %d", info.FirstOffset, i)
		}
	}
	l.SetHighWatermark(l.LogEndOffset())
}

// TestDamageAtTheEndBelowRecoveryPoint: when nothing valid follows, the bytes stay and the log goes on in a new segment.
func TestDamageAtTheEndBelowRecoveryPoint(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	w.fill(l, 20)
	if err := l.Flush(20); err != nil {
		t.Fatal(err)
	}
	l.Abandon()
	path := l.active().Path()
	log := readFile(t, w.fs, path)
	for i := len(log) / 20 * 18; i < len(log); i++ {
		log[i] = 0xee
	}
	writeFile(t, w.fs, path, log)
	writeFile(t, w.fs, strings.TrimSuffix(path, ".log")+".index", []byte{1})
	l = w.open(recoverFrom(20))
	if got := w.kinds(); got != "damage kept" || l.LogEndOffset() != 20 || len(l.Segments()) != 2 {
		t.Errorf("events %s, end %d, segments %+v", got, l.LogEndOffset(), l.Segments())
	}
	if e := w.events[len(w.events)-1]; e.From != 18 || e.To != 20 {
		t.Errorf("%+v", e)
	}
	w.fillFrom(l, 20, 22)
	w.close(l)
	if !slices.Equal(readFile(t, w.fs, path), log) {
		t.Error("the damaged segment was changed")
	}
	l = w.open(clean)
	defer l.Abandon()
	if l.LogEndOffset() != 22 {
		t.Errorf("log end %d", l.LogEndOffset())
	}
	if _, err := l.Read(18, LogEnd, 100, true); !errors.Is(err, record.ErrCorruptBatch) {
		t.Errorf("read of a damaged offset: %v", err)
	}
}

// TestTornTail: what a write that was cut short left is removed above the recovery point, whatever it looks like.
func TestTornTail(t *testing.T) {
	whole := batchOf(startMs, "torn off")
	for name, tail := range map[string][]byte{
		"half a batch": whole[:40], "a few bytes": whole[:5], "zeros": make([]byte, 4096), "garbage": []byte(strings.Repeat("garbage", 30)),
		"an old batch": whole, // its offset is 0
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.open()
			w.fill(l, 10)
			l.Abandon()
			path := l.active().Path()
			log := readFile(t, w.fs, path)
			writeFile(t, w.fs, path, append(slices.Clone(log), tail...))
			l = w.open()
			if got := w.kinds(); got != "tail cut" {
				t.Errorf("events: %s", got)
			}
			w.expect(l, 0, 10)
			w.fillFrom(l, 10, 12)
			w.close(l)
			l = w.open(clean)
			defer l.Abandon()
			w.expect(l, 0, 12)
		})
	}
}

// TestTornSegmentDropsLaterOnes: a log with a hole is no log.
func TestTornSegmentDropsLaterOnes(t *testing.T) {
	w := newWorld(t).small()
	l := w.open()
	w.fill(l, 50)
	l.Abandon()
	s := l.Segments()[3]
	log := readFile(t, w.fs, s.Path)
	writeFile(t, w.fs, s.Path, log[:len(log)-10])
	l = w.open()
	if got := w.kinds(); !strings.HasPrefix(got, "tail cut, segment dropped") {
		t.Errorf("events: %s", got)
	}
	end := int(s.NextBaseOffset) - 1
	w.expect(l, 0, end)
	w.fillFrom(l, end, end+20)
	w.close(l)
	l = w.open(clean)
	defer l.Abandon()
	w.expect(l, 0, end+20)
}

// TestR28LastFiveBatches: whichever of the last five batches of each producer a client repeats, after a stop in order and
// after a kill, it is a duplicate, although a snapshot keeps one only. X-08 asks the same.
func TestR28LastFiveBatches(t *testing.T) {
	for _, stop := range []string{"clean", "killed", "killed after a roll", "killed, no roll yet"} {
		t.Run(stop, func(t *testing.T) {
			w := newWorld(t)
			w.config.SegmentBytes, w.config.IndexIntervalBytes = 20000, 100
			if stop == "killed, no roll yet" {
				w.config.SegmentBytes = 1 << 20
			}
			l := w.open()
			sent := map[record.ProducerID][]AppendInfo{}
			seq := map[record.ProducerID]record.Sequence{}
			for i := range 400 {
				id := record.ProducerID(i % 7)
				info := w.append(l, from{id: id, seq: seq[id]}.batch(1+i%3), AppendOptions{LeaderEpoch: 0})
				sent[id] = append(sent[id], info)
				seq[id] += record.Sequence(info.Count)
				w.append(l, batchOf(startMs, "between"), AppendOptions{LeaderEpoch: 0})
				w.pass(0)
			}
			if stop == "killed after a roll" {
				if err := l.Roll(); err != nil {
					t.Fatal(err)
				}
				w.pass(0)
			}
			if stop == "clean" {
				w.close(l)
				l = w.open(clean)
			} else {
				l.Abandon()
				l = w.open(recoverFrom(l.RecoveryPoint()))
			}
			defer l.Abandon()
			end := l.LogEndOffset()
			for id, list := range sent {
				at := seq[id]
				for k := 1; k <= 6; k++ {
					was := list[len(list)-k]
					at -= record.Sequence(was.Count)
					info, err := l.Append(from{id: id, seq: at}.batch(int(was.Count)), AppendOptions{})
					if k <= 5 && (err != nil || !info.Duplicate || info.FirstOffset != was.FirstOffset || info.LastOffset != was.LastOffset) {
						t.Errorf("producer %d, %d from the end: %+v, %v, want %+v", id, k, info, err, was)
					}
					if k == 6 && !errors.Is(err, producer.ErrOutOfOrderSequence) {
						t.Errorf("producer %d, sixth from the end: %+v, %v", id, info, err)
					}
				}
			}
			if l.LogEndOffset() != end {
				t.Errorf("the log grew from %d to %d", end, l.LogEndOffset())
			}
		})
	}
}

// TestX06IdleProducer: after its expiry nothing is known of a producer, and it may go on with any sequence.
func TestX06IdleProducer(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	w.append(l, from{id: 3}.batch(5), AppendOptions{})
	w.pass(DefaultProducerExpiry - time.Minute)
	if _, err := l.Append(from{id: 3, seq: 99}.batch(1), AppendOptions{}); !errors.Is(err, producer.ErrOutOfOrderSequence) {
		t.Errorf("before the expiry: %v", err)
	}
	w.pass(2 * time.Minute)
	if n := l.ExpireProducers(); n != 1 || len(l.Producers()) != 0 {
		t.Errorf("%d producers expired, %+v are left", n, l.Producers())
	}
	w.append(l, from{id: 3, seq: 99}.batch(1), AppendOptions{})
	// A producer at work does not expire, however old its records are.
	w.pass(DefaultProducerExpiry - time.Minute)
	w.append(l, from{id: 3, seq: 100, ts: startMs}.batch(1), AppendOptions{})
	w.pass(time.Hour)
	if l.ExpireProducers(); len(l.Producers()) != 1 {
		t.Error("a producer of back-dated records has expired an hour after its last append")
	}
}

// TestLeftovers: files of interrupted operations are removed or completed (specification 9.2).
func TestLeftovers(t *testing.T) {
	w := newWorld(t).small()
	l := w.open()
	w.fill(l, 50)
	w.close(l)
	segments := l.Segments()
	dir := l.Dir() + "/"
	name := func(i int, suffix string) string {
		return strings.TrimSuffix(segments[i].Path, ".log") + suffix
	}
	// A compaction of segments 1 and 2 had come as far as renaming its output to .swap, and one of the old files is gone.
	swap := slices.Concat(readFile(t, w.fs, name(1, ".log")), readFile(t, w.fs, name(2, ".log")))
	writeFile(t, w.fs, name(1, ".log.swap"), swap)
	writeFile(t, w.fs, name(1, ".index.swap"), nil)
	writeFile(t, w.fs, name(1, ".timeindex.swap"), nil)
	if err := w.fs.Remove(name(1, ".log")); err != nil {
		t.Fatal(err)
	}
	// Another one was still at work further up.
	writeFile(t, w.fs, name(4, ".log.cleaned"), []byte("unfinished"))
	writeFile(t, w.fs, name(5, ".log.swap"), []byte("of the same"))
	// And what else may lie about.
	writeFile(t, w.fs, dir+"00000000000000000099.log.deleted", []byte("deleted"))
	writeFile(t, w.fs, dir+"00000000000000000099.index", []byte("index without log"))
	writeFile(t, w.fs, dir+"00000000000000000000.timeindex.tmp", []byte("half an index"))
	writeFile(t, w.fs, dir+"00000000000000000000-0000000000.checkpoint.deleted", []byte("not ours"))
	writeFile(t, w.fs, dir+"quorum-state", []byte("not ours"))

	l = w.open(clean)
	w.expect(l, 0, 50)
	if n := len(l.Segments()); n != len(segments)-1 {
		t.Errorf("%d segments, there were %d", n, len(segments))
	}
	w.close(l)
	for f := range w.files(l.Dir()) {
		theirs := strings.HasPrefix(f, "quorum") || strings.Contains(f, ".checkpoint")
		if strings.HasSuffix(f, ".swap") || strings.HasSuffix(f, ".cleaned") || strings.Contains(f, "99") || strings.HasSuffix(f, ".tmp") ||
			strings.HasSuffix(f, ".deleted") && !theirs {
			t.Errorf("%s is still there", f)
		}
	}
	for _, f := range []string{"quorum-state", "00000000000000000000-0000000000.checkpoint.deleted"} {
		if _, err := w.fs.Stat(dir + f); err != nil {
			t.Error(err)
		}
	}
}

// TestMissingFiles: indexes that are missing are made anew, after a stop in order too.
func TestMissingFiles(t *testing.T) {
	for _, suffix := range []string{".index", ".timeindex"} {
		for _, which := range []int{2, -1} {
			for _, stop := range []string{"clean", "killed"} {
				t.Run(fmt.Sprint(suffix, which, stop), func(t *testing.T) {
					w := newWorld(t).small()
					l := w.open()
					w.fill(l, 50)
					if stop == "clean" {
						w.close(l)
					} else {
						l.Abandon()
					}
					segments := l.Segments()
					s := segments[(which+len(segments))%len(segments)]
					path := strings.TrimSuffix(s.Path, ".log") + suffix
					if err := w.fs.Remove(path); err != nil {
						t.Fatal(err)
					}
					l = w.open(func(o *Options) { o.Clean, o.RecoveryPoint = stop == "clean", l.RecoveryPoint() })
					w.expect(l, 0, 50)
					w.close(l)
					if len(readFile(t, w.fs, path)) == 0 {
						t.Error("the index is empty")
					}
				})
			}
		}
	}
}

// TestLegacySegments opens logs of magic 0 and 1 that a broker wrote, in order and as if killed, and reads them.
func TestLegacySegments(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4"} {
		for _, version := range []string{"0.9.0", "0.10.2"} {
			for _, stop := range []string{"clean", "killed"} {
				t.Run(codec+"/"+version+"/"+stop, func(t *testing.T) {
					files := kafkaLog(t, "legacy/old-"+version+"-"+codec+"-0")
					w := newWorld(t)
					w.config.IndexIntervalBytes = 4096
					w.install(files)
					l := w.open(func(o *Options) { o.Clean = stop == "clean" })
					if l.LogEndOffset() != 300 || len(w.contents(l)) != 300 || w.kinds() != "" {
						t.Errorf("log end %d, %d records, events %s", l.LogEndOffset(), len(w.contents(l)), w.kinds())
					}
					l.SetHighWatermark(300)
					for o := range record.Offset(300) {
						info, err := l.Read(o, HighWatermark, 1, true)
						if err != nil || info.Region.Length == 0 {
							t.Fatalf("read at %d: %+v, %v", o, info, err)
						}
						info.Region.Release()
					}
					if _, ok, err := l.MaxTimestampOffset(); err != nil || ok != (version == "0.10.2") {
						t.Errorf("a largest timestamp: %v, %v", ok, err)
					}
					w.append(l, batchOf(startMs, "new"), AppendOptions{LeaderEpoch: 1})
					w.close(l)
				})
			}
		}
	}
}

// TestCompactedSegments reads what Kafka's compaction left, with its gaps: C-09, I-12.
func TestCompactedSegments(t *testing.T) {
	for _, stop := range []string{"clean", "killed", "killed, recovery point 0"} {
		t.Run(stop, func(t *testing.T) {
			w := newWorld(t)
			w.install(kafkaLog(t, "clean/compacted-0"))
			l := w.open(func(o *Options) {
				o.Clean, o.RecoveryPoint = stop == "clean", 2060
				if stop == "killed, recovery point 0" {
					o.RecoveryPoint = 0
				}
			})
			defer l.Abandon()
			if w.kinds() != "" || l.LogEndOffset() != 3000 {
				t.Errorf("events %s, log end %d", w.kinds(), l.LogEndOffset())
			}
			l.SetHighWatermark(3000)
			last := record.Offset(-1)
			for o := range record.Offset(3000) {
				info, err := l.Read(o, HighWatermark, 1, true)
				if err != nil || info.Region.Length == 0 {
					t.Fatalf("read at %d: %+v, %v", o, info, err)
				}
				b := make(record.Batch, info.Region.Length)
				if err := info.Region.ReadInto(b); err != nil || b.CheckCRC() != nil || b.LastOffset() < o {
					t.Fatalf("read at %d: batch %d..%d after %d, %v", o, b.BaseOffset(), b.LastOffset(), last, err)
				}
				last = b.LastOffset()
				info.Region.Release()
			}
		})
	}
}
