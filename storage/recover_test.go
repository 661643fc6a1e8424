package storage

import (
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

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

// TestR04BytesRead: after a kill the log is read from the recovery point on, not as a whole: of 200 sealed segments and an active
// one only that is; after a stop in order only its end is.
func TestR04BytesRead(t *testing.T) {
	var read atomic.Int64
	w := worldOn(t, counting{vfs.NewMem(), &read})
	w.config.SegmentBytes = 10 << 10
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
	sealed := len(l.list()) - 1
	if sealed < 200 {
		t.Fatalf("%d sealed segments", sealed)
	}
	l.Abandon()

	read.Store(0)
	l = w.open(recoverFrom(l.RecoveryPoint()))
	if n := read.Load(); n < active || n > active+64<<10 {
		t.Errorf("%d bytes were read to recover an active segment of %d, of %d in all", n, active, all)
	} else {
		t.Logf("%d bytes read: an active segment of %d, and %d for each of %d sealed ones; %d in all", n, active, (n-active)/int64(sealed), sealed, all)
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

// TestR05RecoveryMemory: what recovery allocates does not depend on how much it reads: ten times the log, with all its
// indexes to be made anew, costs the same buffers.
func TestR05RecoveryMemory(t *testing.T) {
	recovered := func(batches int) (allocated uint64, size int64) {
		w := newWorld(t)
		l := w.open()
		for range batches {
			w.append(l, batchOf(startMs, strings.Repeat("x", 2000)), AppendOptions{})
		}
		size = l.SizeInBytes()
		l.Abandon()
		for _, suffix := range []string{".index", ".timeindex"} {
			if err := w.fs.Remove("/data/t-0/00000000000000000000" + suffix); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l = w.open()
		runtime.ReadMemStats(&after)
		defer l.Abandon()
		if l.LogEndOffset() != record.Offset(batches) {
			t.Fatalf("log end %d", l.LogEndOffset())
		}
		return after.TotalAlloc - before.TotalAlloc, size
	}
	recovered(10) // what is allocated once
	little, small := recovered(100)
	much, large := recovered(2000)
	// A pool may have lost its buffer of 256 KiB meanwhile, and indexes grow with the log; the data is not in it.
	if most := little + 512<<10 + uint64(large)/20; much > most {
		t.Errorf("%d bytes were allocated to recover %d, and %d to recover %d", little, small, much, large)
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
