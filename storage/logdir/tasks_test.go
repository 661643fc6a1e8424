package logdir

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func metaOf(id record.UUID) checkpoint.MetaProperties {
	return checkpoint.MetaProperties{ClusterID: "cluster", NodeID: 1, DirectoryID: id, Version: 1}
}

// periods sets Kafka's periods.
func periods(o *Options) {
	o.RetentionCheckInterval, o.RecoveryPointInterval, o.LogStartInterval = 5*time.Minute, time.Minute, time.Minute
	o.HighWatermarkInterval, o.FlushCheckInterval, o.InitialDelay = 5*time.Second, time.Second, 30*time.Second
}

func status(t *testing.T, m *Manager, name string) TaskStatus {
	t.Helper()
	for _, s := range m.Tasks() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no task %q", name)
	return TaskStatus{}
}

func TestCheckpointsAreWrittenPeriodically(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 1)
		r.change = periods
		writes := atomic.Int64{}
		r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpRename && strings.HasSuffix(op.To, "checkpoint") {
				writes.Add(1)
			}
			return nil
		})
		m := r.open()
		defer mustClose(t, m)
		l := r.create(m, tp("a", 0), record.UUID{})
		produce(t, l, 5, time.Now().UnixMilli())
		m.Start()
		m.Start() // once is enough
		writes.Store(0)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if got, want := get(t, mem, "/data0/replication-offset-checkpoint"), "0\n1\na 0 5\n"; got != want {
			t.Errorf("high watermarks %q, want %q", got, want)
		}
		if err := errors.Join(l.DeleteRecords(2), l.Flush(5)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got, want := get(t, mem.Crash(), "/data0/recovery-point-offset-checkpoint"), "0\n1\na 0 5\n"; got != want {
			t.Errorf("recovery points %q, want %q", got, want)
		}
		if got, want := get(t, mem.Crash(), "/data0/log-start-offset-checkpoint"), "0\n1\na 0 2\n"; got != want {
			t.Errorf("log starts %q, want %q", got, want)
		}
		before := writes.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := writes.Load() - before; n != 0 {
			t.Errorf("%d checkpoints were written in an hour in which nothing happened", n)
		}
		s := status(t, m, "high watermark checkpoint")
		if s.Runs < 700 || s.Failures != 0 || s.LastError != nil || time.Since(s.LastRun) > 6*time.Second {
			t.Errorf("status %+v", s)
		}
	})
}

func TestFlusher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := format(t, vfs.NewMem(), 1)
		r.change = periods
		m := r.open()
		defer mustClose(t, m)
		c := storage.DefaultConfig()
		slow := r.create(m, tp("slow", 0), record.UUID{})
		c.FlushMs = 10_000
		quick, _, err := m.Create(tp("quick", 0), idA, c, record.UUID{})
		if err != nil {
			t.Fatal(err)
		}
		m.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		produce(t, slow, 5, 1)
		produce(t, quick, 5, 1)
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if quick.RecoveryPoint() != 5 || slow.RecoveryPoint() != 0 {
			t.Errorf("flushed up to %d and %d", quick.RecoveryPoint(), slow.RecoveryPoint())
		}
	})
}

// TestT06RetentionGoesOn: an error and a panic in the retention of two partitions stop neither the others nor the next
// rounds, and both can be seen.
func TestT06RetentionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 1)
		r.change = periods
		bad := atomic.Bool{}
		r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if bad.Load() && op.Kind == vfs.OpRead && strings.Contains(op.Path, "/bad-0/") {
				return errTest
			}
			if bad.Load() && op.Kind == vfs.OpRead && strings.Contains(op.Path, "/bug-0/") {
				panic("a bug in one partition")
			}
			return nil
		})
		c := storage.DefaultConfig()
		c.RetentionMs, c.SegmentBytes, c.FileDeleteDelayMs = 3600_000, 700, 1000
		m := r.open()
		for _, topic := range []string{"good", "bad", "bug", "other"} {
			l, _, err := m.Create(tp(topic, 0), idA, c, record.UUID{})
			if err != nil {
				t.Fatal(err)
			}
			produce(t, l, 20, time.Now().UnixMilli())
		}
		mustClose(t, m)
		m, err := Open(r.options())
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Load(t.Context(), func(record.TopicPartition, record.UUID) (storage.Config, bool) { return c, true }); err != nil {
			t.Fatal(err)
		}
		bad.Store(true)
		m.Start()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for topic, want := range map[string]record.Offset{"good": 20, "other": 20, "bad": 0, "bug": 0} {
			if got := m.Log(tp(topic, 0)).LogStartOffset(); got != want {
				t.Errorf("%s begins at %d, want %d", topic, got, want)
			}
		}
		s := status(t, m, "retention")
		if s.Failures != 2 || s.Runs < 20 || s.LastError == nil || time.Since(s.LastErrorAt) > 6*time.Minute || time.Since(s.LastRun) > 6*time.Minute {
			t.Errorf("status %+v", s)
		}
		topics := map[string]bool{}
		for _, e := range r.events.of(TaskFailed) {
			topics[e.TopicPartition.Topic] = true
		}
		if len(topics) != 2 || !topics["bad"] || !topics["bug"] {
			t.Errorf("events of %v", topics)
		}
		bad.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := status(t, m, "retention"); s.Failures != 0 || s.LastError == nil || m.Log(tp("bad", 0)).LogStartOffset() != 20 {
			t.Errorf("when it works again: %+v", s)
		}
		mustClose(t, m)
	})
}

// TestR03PaddedTimeIndex: a time index that a power loss padded with zeros must not make retention believe that the
// segment is from 1970. Without and with the clean-shutdown marker.
func TestR03PaddedTimeIndex(t *testing.T) {
	for _, clean := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			mem := vfs.NewMem()
			r := format(t, mem, 1)
			r.change = periods
			c := storage.DefaultConfig()
			c.RetentionMs, c.SegmentBytes, c.IndexIntervalBytes = 3600_000, 5000, 100
			load := func() *Manager {
				m, err := Open(r.options())
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Load(t.Context(), func(record.TopicPartition, record.UUID) (storage.Config, bool) { return c, true }); err != nil {
					t.Fatal(err)
				}
				return m
			}
			m := load()
			l, _, err := m.Create(tp("a", 0), idA, c, record.UUID{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				produce(t, l, 1, time.Now().UnixMilli()+int64(i))
			}
			segments := len(l.Segments())
			mustClose(t, m)
			if !clean {
				if err := mem.Remove("/data0/.kafka_cleanshutdown"); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range list(t, mem, "/data0/a-0") {
				if strings.HasSuffix(name, ".timeindex") {
					put(t, mem, "/data0/a-0/"+name, get(t, mem, "/data0/a-0/"+name)+strings.Repeat("\x00", 12))
				}
			}
			m = load()
			m.Start()
			time.Sleep(15 * time.Minute)
			synctest.Wait()
			l = m.Log(tp("a", 0))
			if l.LogStartOffset() != 0 || l.LogEndOffset() != 100 || len(l.Segments()) != segments {
				t.Errorf("clean %v: offsets %d to %d in %d segments, were 0 to 100 in %d", clean, l.LogStartOffset(), l.LogEndOffset(), len(l.Segments()), segments)
			}
			time.Sleep(2 * time.Hour) // and when the time has come they go
			synctest.Wait()
			if l.LogStartOffset() != 100 {
				t.Errorf("clean %v: after two hours the log begins at %d; %v", clean, l.LogStartOffset(), r.events.list)
			}
			mustClose(t, m)
		})
	}
}
