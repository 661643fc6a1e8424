package logdir

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/cleaner"
	"github.com/samsalog/samsa/vfs"
)

// compacting sets Kafka's periods and starts a cleaner.
func compacting(o *Options) {
	periods(o)
	o.Cleaner = cleaner.DefaultSettings
}

func compacted() storage.Config {
	c := storage.DefaultConfig()
	c.CleanupCompact, c.CleanupDelete = true, false
	return c
}

// putKeys appends the same n keys rounds times, then rolls.
func putKeys(t testing.TB, l *storage.Log, n, rounds int) {
	t.Helper()
	for i := range n * rounds {
		b := record.NewBuilder(record.DefaultBuilderOptions())
		b.Append(time.Now().UnixMilli(), fmt.Appendf(nil, "key%d", i%n), []byte(strings.Repeat("x", 100)), nil)
		if _, err := l.Append(b.Build(), storage.AppendOptions{LeaderEpoch: 0}); err != nil {
			t.Fatal(err)
		}
	}
	l.SetHighWatermark(l.LogEndOffset())
	if err := l.Roll(); err != nil {
		t.Fatal(err)
	}
}

func cleanerCheckpoint(t testing.TB, fsys vfs.FS, dir int) map[record.TopicPartition]record.Offset {
	t.Helper()
	content, err := checkpoint.ReadOffsets(fsys, fmt.Sprintf("/data%d/%s", dir, checkpoint.CleanerOffsetsFile))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A compacted topic is compacted in the background, its checkpoint is durable, and the next start goes on from there.
func TestCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 2)
		r.change = compacting
		m := r.open()
		a, _, err := m.Create(tp("a", 0), idA, compacted(), dirIDs[1])
		if err != nil {
			t.Fatal(err)
		}
		other := r.create(m, tp("b", 0), dirIDs[1])
		putKeys(t, a, 10, 10)
		putKeys(t, other, 10, 10)
		size := other.SizeInBytes()
		if m.Compaction() != nil {
			t.Fatal("compaction before Start")
		}
		m.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := a.SizeInBytes(); got == 0 || got > size/5 || other.SizeInBytes() != size {
			t.Fatalf("%d of %d bytes are left", got, size)
		}
		if got := cleanerCheckpoint(t, mem.Crash(), 1); len(got) != 1 || got[tp("a", 0)] != 100 {
			t.Fatalf("the checkpoint says %v", got)
		}
		s := m.Compaction()
		if len(s) != 1 || s[0].TopicPartition != tp("a", 0) || s[0].Runs != 1 || s[0].FirstDirty != 100 || s[0].DirtyRatio != 0 || s[0].LastError != nil {
			t.Fatalf("%+v", s)
		}
		ev := r.events.of(Compacted)
		if len(ev) != 1 || ev[0].Compaction == nil || !strings.HasPrefix(ev[0].String(), "a-0: compacted up to offset 100: 1 segments") {
			t.Fatalf("%v", ev)
		}
		mustClose(t, m)
		m, err = Open(r.options())
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Load(t.Context(), func(tp record.TopicPartition, _ record.UUID) (storage.Config, bool) {
			return compacted(), tp.Topic == "a"
		}); err != nil {
			t.Fatal(err)
		}
		m.Start()
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := m.Compaction(); len(s) != 1 || s[0].Runs != 0 || s[0].FirstDirty != 100 {
			t.Fatalf("after a restart: %+v", s)
		}
		mustClose(t, m)
	})
}

// Old segments of compacted logs are deleted by the cleaner, those of others by the retention task; without a cleaner
// the task does both.
func TestRetentionOfCompactedLogs(t *testing.T) {
	for _, with := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := format(t, vfs.NewMem(), 1)
			r.change = func(o *Options) {
				periods(o)
				if with {
					o.Cleaner = cleaner.DefaultSettings
					o.RetentionCheckInterval = 100 * time.Hour // the task comes too late
				}
			}
			m := r.open()
			defer mustClose(t, m)
			c := compacted()
			c.CleanupDelete, c.RetentionMs = true, time.Hour.Milliseconds()
			l, _, err := m.Create(tp("a", 0), idA, c, record.UUID{})
			if err != nil {
				t.Fatal(err)
			}
			putKeys(t, l, 10, 1)
			m.Start()
			time.Sleep(50 * time.Minute)
			synctest.Wait()
			if l.LogStartOffset() != 0 {
				t.Fatal("deleted too early")
			}
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			if l.LogStartOffset() != 10 {
				t.Fatalf("with cleaner %v: the log starts at %d", with, l.LogStartOffset())
			}
		})
	}
}

// The checkpoint of a partition that was deleted says nothing about one of the same name (DIR-3).
func TestCleanerCheckpointOfDeletedPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 1)
		r.change = compacting
		m := r.open()
		defer mustClose(t, m)
		for _, topic := range []string{"a", "b"} {
			l, _, err := m.Create(tp(topic, 0), idA, compacted(), record.UUID{})
			if err != nil {
				t.Fatal(err)
			}
			putKeys(t, l, 10, 2)
		}
		m.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := m.Delete(tp("a", 0)); err != nil {
			t.Fatal(err)
		}
		l, _, err := m.Create(tp("a", 0), idB, compacted(), record.UUID{})
		if err != nil {
			t.Fatal(err)
		}
		if got := cleanerCheckpoint(t, mem.Crash(), 0); len(got) != 1 || got[tp("b", 0)] != 20 {
			t.Fatalf("the checkpoint says %v", got)
		}
		putKeys(t, l, 10, 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := cleanerCheckpoint(t, mem.Crash(), 0); got[tp("a", 0)] != 20 || len(r.events.of(Compacted)) != 3 {
			t.Fatalf("the checkpoint says %v, %v", got, r.events.of(Compacted))
		}
		if s := m.Compaction(); len(s) != 2 {
			t.Fatalf("%+v", s)
		}
	})
}

// A partition can be deleted while it is being compacted, and the directories closed.
func TestDeleteAndCloseDuringCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := format(t, vfs.NewMem(), 1)
		r.change = func(o *Options) {
			compacting(o)
			slow := cleaner.DefaultSettings()
			slow.IOMaxBytesPerSecond = 1
			o.Cleaner = func() cleaner.Settings { return slow }
		}
		m := r.open()
		for _, topic := range []string{"a", "b"} {
			l, _, err := m.Create(tp(topic, 0), idA, compacted(), record.UUID{})
			if err != nil {
				t.Fatal(err)
			}
			putKeys(t, l, 10, 10)
		}
		m.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		began := time.Now()
		if err := errors.Join(m.Delete(tp("a", 0)), m.Delete(tp("b", 0))); err != nil {
			t.Fatal(err)
		}
		mustClose(t, m)
		if time.Since(began) != 0 || len(r.events.of(CompactionFailed))+len(r.events.of(DirFailed)) != 0 {
			t.Fatalf("it took %v; %v", time.Since(began), r.events.list)
		}
	})
}

// A cleaner checkpoint that cannot be written takes its directory offline, and nothing else.
func TestCleanerCheckpointFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 2)
		r.change = compacting
		r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpSync && strings.HasPrefix(op.Path, "/data0/"+checkpoint.CleanerOffsetsFile) {
				return errTest
			}
			return nil
		})
		m := r.open()
		defer func() { _ = m.Close() }()
		for i, topic := range []string{"a", "b"} {
			l, _, err := m.Create(tp(topic, 0), idA, compacted(), dirIDs[i])
			if err != nil {
				t.Fatal(err)
			}
			putKeys(t, l, 10, 2)
		}
		m.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		d := m.Dirs()
		if !errors.Is(d[0].Err, errTest) || d[1].Err != nil || len(r.events.of(CompactionFailed)) != 0 {
			t.Fatalf("%v, %v; %v", d[0].Err, d[1].Err, r.events.of(CompactionFailed))
		}
		if got := cleanerCheckpoint(t, mem, 1); got[tp("b", 0)] != 20 {
			t.Fatalf("the checkpoint says %v", got)
		}
	})
}
