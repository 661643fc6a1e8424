package logdir

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/cleaner"
	"github.com/samsalog/samsa/vfs"
)

// TestR05RebuildInBoundedMemory: how much is allocated while the indexes of many partitions are made anew depends on how
// many partitions there are, not on how much they hold.
func TestR05RebuildInBoundedMemory(t *testing.T) {
	const partitions, batchBytes = 50, 8 << 10
	rebuild := func(batches int) (allocated, held, data uint64) {
		r := onDisk(t, func(*Options) {})
		m := r.open()
		config := storage.DefaultConfig()
		config.SegmentBytes = batchBytes * 40
		for p := range int32(partitions) {
			l, _, err := m.Create(tp("a", p), idA, config, record.UUID{})
			if err != nil {
				t.Fatal(err)
			}
			for range batches {
				b := record.NewBuilder(record.DefaultBuilderOptions())
				b.Append(1, nil, make([]byte, batchBytes), nil)
				if _, err := l.Append(b.Build(), storage.AppendOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			data += uint64(l.SizeInBytes())
		}
		mustClose(t, m)
		deleted := 0
		for p := range partitions {
			dir := filepath.Join(r.dirs[0], fmt.Sprintf("a-%d", p))
			for _, name := range list(t, r.fs, dir) {
				if strings.HasSuffix(name, "index") {
					deleted++
					if err := r.fs.Remove(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if deleted < 2*partitions {
			t.Fatalf("%d indexes", deleted)
		}
		runtime.GC()
		var before, after, idle runtime.MemStats
		runtime.ReadMemStats(&before)
		m = r.open()
		runtime.ReadMemStats(&after)
		runtime.GC()
		runtime.ReadMemStats(&idle)
		for _, l := range m.Logs() {
			for _, s := range l.Segments() {
				if get(t, r.fs, strings.TrimSuffix(s.Path, ".log")+".index") == "missing" {
					t.Fatalf("%s has no index", s.Path)
				}
			}
		}
		mustClose(t, m)
		return after.TotalAlloc - before.TotalAlloc, max(idle.HeapAlloc, before.HeapAlloc) - before.HeapAlloc, data
	}
	rebuild(1) // what is allocated once
	little, _, _ := rebuild(2)
	much, held, data := rebuild(100)
	t.Logf("%d partitions: %d bytes allocated for little data, %d for %d bytes of data, %d held afterwards", partitions, little, much, data, held)
	if much > little+data/8 || held > partitions*32<<10 {
		t.Errorf("memory grows with the data")
	}
}

// onDisk is a formatted directory of the real file system.
func onDisk(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, fs: vfs.NewOS(), dirs: []string{filepath.Join(t.TempDir(), "data")}, events: &events{}, change: change}
	if err := Format(r.fs, r.dirs[0], checkpoint.MetaProperties{ClusterID: "cluster", NodeID: 1, DirectoryID: dirIDs[0], Version: 1}); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestR24DeleteCompactRetainOnRealFiles does on the host's file system everything that renames or removes files of a log while
// readers hold them: compaction, retention, truncation, deletion of a partition. It runs wherever Go does. What only a
// Windows machine can show is whether the system lets open files be renamed and unlinked there: that depends on the
// sharing mode with which vfs opens them, and on the file system (KAFKA-1194, KAFKA-6203, KAFKA-9458). Elsewhere the
// test shows that the order of the steps and the names are right.
func TestR24DeleteCompactRetainOnRealFiles(t *testing.T) {
	r := onDisk(t, func(o *Options) { o.Cleaner = cleaner.DefaultSettings })
	m := r.open()
	dir := r.dirs[0]
	config := storage.DefaultConfig()
	config.SegmentBytes, config.FileDeleteDelayMs, config.MinCleanableDirtyRatio, config.RetentionMs = 1000, 0, 0, 1
	create := func(topic string, compact bool) *storage.Log {
		c := config
		c.CleanupCompact, c.CleanupDelete = compact, !compact
		l, _, err := m.Create(tp(topic, 0), idA, c, record.UUID{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			b := record.NewBuilder(record.DefaultBuilderOptions())
			b.Append(1, fmt.Appendf(nil, "key%d", i%5), []byte(strings.Repeat("x", 80)), nil)
			if _, err := l.Append(b.Build(), storage.AppendOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		l.SetHighWatermark(l.LogEndOffset())
		return l
	}
	hold := func(l *storage.Log) func() {
		info, err := l.Read(0, storage.LogEnd, 500, true)
		if err != nil || info.Region.Length == 0 {
			t.Fatal(err)
		}
		return func() {
			t.Helper()
			b := make(record.Batch, info.Region.Length)
			if err := info.Region.ReadInto(b); err != nil || record.Batch(b[:b.Header().SizeInBytes]).CheckCRC() != nil {
				t.Errorf("a reader of %v that held the old file: %v", l.TopicPartition(), err)
			}
			info.Region.Release()
		}
	}
	files := func(l *storage.Log) (segments, leftovers int) {
		for _, n := range list(t, r.fs, l.Dir()) {
			switch filepath.Ext(n) {
			case ".log":
				segments++
			case ".deleted", ".cleaned", ".swap":
				leftovers++
			}
		}
		return segments, leftovers
	}
	wait := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !done(); runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("%s does not happen: %+v %v", what, m.Compaction(), r.events.list)
			}
		}
	}

	compacted, retained, cut := create("compacted", true), create("retained", false), create("cut", false)
	readers := []func(){hold(compacted), hold(retained), hold(cut)}
	if err := compacted.Roll(); err != nil {
		t.Fatal(err)
	}
	m.Start()
	wait("compaction", func() bool {
		_, rest := files(compacted)
		s := m.Compaction()
		return len(s) == 1 && s[0].Runs == 1 && s[0].Last.SegmentsWritten > 1 && rest == 0
	})
	if _, err := retained.DeleteOldSegments(); err != nil {
		t.Fatal(err)
	}
	wait("retention", func() bool { n, rest := files(retained); return n == 1 && rest == 0 })
	if err := errors.Join(cut.TruncateTo(3), cut.TruncateFullyAndStartAt(100)); err != nil {
		t.Fatal(err)
	}
	wait("truncation", func() bool { n, rest := files(cut); return n == 1 && rest == 0 })
	for _, read := range readers {
		read()
	}
	held := hold(compacted)
	if err := m.Delete(tp("compacted", 0)); err != nil {
		t.Fatal(err)
	}
	if names := list(t, r.fs, dir); slices.Contains(names, "compacted-0") || !hasSuffix(names, "-delete") {
		t.Errorf("after the deletion there are %q", names)
	}
	held()
	mustClose(t, m)
	m = r.open()
	defer mustClose(t, m)
	if m.Log(tp("compacted", 0)) != nil || m.Log(tp("retained", 0)).LogStartOffset() != 60 || m.Log(tp("cut", 0)).LogEndOffset() != 100 {
		t.Errorf("after a restart: %v", m.Logs())
	}
}
