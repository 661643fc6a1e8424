package cleaner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// interrupted has a log of several segments and calls during when the first cleaned file is made.
func interrupted(t *testing.T, during func(w *world)) *world {
	t.Helper()
	var w *world
	armed := false
	w = newWorld(t, vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if armed && op.Kind == vfs.OpOpen && strings.HasSuffix(op.Path, ".log"+segment.CleanedSuffix) {
			armed = false
			during(w)
		}
		return nil
	}), small)
	w.settings.IOBufferBytes = 0
	w.open()
	t.Cleanup(func() { w.cleaner.Close(); w.log.Abandon() })
	for i := range 40 {
		w.put(fmt.Sprintf("k%d=%d", i%5, i))
	}
	w.roll()
	armed = true
	return w
}

func (w *world) noLeftovers() {
	w.t.Helper()
	for _, n := range w.names() {
		if strings.HasSuffix(n, segment.CleanedSuffix) || strings.HasSuffix(n, segment.SwapSuffix) {
			w.t.Fatalf("%s is left of %q", n, w.names())
		}
	}
}

// Truncation under a run ends it; nothing of what was cut comes back, and what grows again is compacted anew.
func TestTruncationDuringRun(t *testing.T) {
	w := interrupted(t, func(w *world) {
		if err := w.log.TruncateTo(21); err != nil {
			w.t.Error(err)
		}
	})
	w.saved[tp0] = 30
	if w.cleaner.Round() {
		t.Fatal("the run came to its end")
	}
	w.noLeftovers()
	if s := w.status(); s.LastError != nil || s.State != Idle || w.log.LogEndOffset() != 21 {
		t.Fatalf("%+v, the log ends at %d", s, w.log.LogEndOffset())
	}
	for i := range 20 {
		w.put(fmt.Sprintf("k%d=new%d", i%5, i))
	}
	w.sealAndClean()
	w.want("36:k0=new15", "37:k1=new16", "38:k2=new17", "39:k3=new18", "40:k4=new19")
}

// The first dirty offset follows a truncation down, and is saved before anything else happens.
func TestTruncationLowersFirstDirty(t *testing.T) {
	w := start(t)
	w.put("a=1", "b=1", "c=1")
	w.sealAndClean()
	if w.saved[tp0] != 3 {
		t.Fatal(w.saved)
	}
	if err := w.log.TruncateTo(1); err != nil {
		t.Fatal(err)
	}
	w.put("a=2", "a=3", "a=4")
	w.cleaner.Round() // nothing is sealed yet
	if w.saved[tp0] != 1 {
		t.Fatal(w.saved)
	}
	w.sealAndClean()
	w.want("3:a=4")
}

// Restarting the log elsewhere under a run, as a follower does.
func TestFullTruncationDuringRun(t *testing.T) {
	w := interrupted(t, func(w *world) {
		if err := w.log.TruncateFullyAndStartAt(100); err != nil {
			w.t.Error(err)
		}
	})
	w.cleaner.Round()
	w.noLeftovers()
	if got := w.log.LogEndOffset(); got != 100 || len(w.log.Segments()) != 1 {
		t.Fatalf("the log ends at %d", got)
	}
	w.mustBeWell()
}

// Retention takes segments away that are just being compacted.
func TestRetentionDuringRun(t *testing.T) {
	w := interrupted(t, func(w *world) {
		if err := w.log.DeleteRecords(25); err != nil {
			w.t.Error(err)
		}
		if _, err := w.log.DeleteOldSegments(); err != nil {
			w.t.Error(err)
		}
	})
	if w.cleaner.Round() {
		t.Fatal("the run came to its end")
	}
	w.noLeftovers()
	w.clean()
	w.want("35:k0=35", "36:k1=36", "37:k2=37", "38:k3=38", "39:k4=39")
}

func TestCloseDuringRun(t *testing.T) {
	w := interrupted(t, func(w *world) {
		if err := w.log.Close(); err != nil {
			w.t.Error(err)
		}
	})
	if w.cleaner.Round() {
		t.Fatal("the run came to its end")
	}
	if s := w.status(); s.LastError != nil || s.State != Idle {
		t.Fatalf("%+v", s)
	}
	w.noLeftovers()
}

// A topic that is no longer compacted is left alone at once.
func TestPolicyChangeDuringRun(t *testing.T) {
	w := interrupted(t, func(w *world) {
		w.setConfig(func(c *storage.Config) { c.CleanupCompact, c.CleanupDelete = false, true })
	})
	before := w.contents(storage.LogEnd)
	if w.cleaner.Round() {
		t.Fatal("the run came to its end")
	}
	w.noLeftovers()
	w.mustBeWell()
	w.want(before...)
}

// Hold aborts a run, waits for it, and keeps others away until it is released; holds add up.
func TestHoldDuringRun(t *testing.T) {
	held := make(chan func())
	w := interrupted(t, func(w *world) {
		go func() { held <- w.cleaner.Hold(w.log) }()
		for { // until the run has been told to stop
			w.cleaner.mu.Lock()
			n := w.cleaner.partLocked(w.log).holds
			w.cleaner.mu.Unlock()
			if n > 0 {
				return
			}
		}
	})
	if w.cleaner.Round() {
		t.Fatal("the run came to its end")
	}
	first, second := <-held, w.cleaner.Hold(w.log)
	w.noLeftovers()
	first()
	first() // twice is once
	if w.cleaner.Round() || w.status().State != Held {
		t.Fatalf("a held log was compacted: %+v", w.status())
	}
	second()
	w.clean()
	if len(w.contents(storage.LogEnd)) != 5 || w.status().State != Idle {
		t.Fatalf("%q", w.contents(storage.LogEnd))
	}
}

// Appends go on beside a run; what they bring is not touched.
func TestAppendDuringRun(t *testing.T) {
	w := interrupted(t, func(w *world) { w.put("k0=late", "k9=late") })
	w.clean()
	got := w.contents(storage.TxnCommitted)
	if want := []string{"40:k0=late", "41:k9=late"}; len(got) != 7 || !slices.Equal(got[5:], want) {
		t.Fatalf("%q", got)
	}
}

// One partition that cannot be compacted is left alone until the next start, and stops nobody (CLN-9).
func TestBadPartitionStopsNoOther(t *testing.T) {
	w := start(t)
	w.put("a=1", "a=2", "a=3")
	w.roll()
	path := w.log.Segments()[0].Path
	b := readFile(t, w.fs, path)
	b[len(b)-2] ^= 1
	writeFile(t, w.fs, path, b)
	o := w.options()
	o.Dir, o.TopicPartition = "/data/t-1", record.TopicPartition{Topic: "t", Partition: 1}
	other, err := storage.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Abandon()
	for i := range 4 {
		if _, err := other.Append(w.batch(plain, fmt.Sprintf("k=%d", i)), storage.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	other.SetHighWatermark(4)
	if err := other.Roll(); err != nil {
		t.Fatal(err)
	}
	w.cleaner.o.Logs = func() []*storage.Log { return []*storage.Log{w.log, other} }
	w.cleaner.o.Alive = func(*storage.Log) bool { return true }
	for range 5 {
		w.cleaner.Round()
	}
	s := w.cleaner.Status()
	if len(s) != 2 || s[0].State != Uncleanable || !errors.Is(s[0].LastError, record.ErrCorruptBatch) || !strings.Contains(s[0].LastError.Error(), path) {
		t.Fatalf("%+v", s)
	}
	if s[1].State != Idle || s[1].Runs != 1 || w.saved[s[1].TopicPartition] != 4 {
		t.Fatalf("%+v", s[1])
	}
	failed := 0
	for _, e := range w.events {
		if e.Kind == Failed {
			failed++
		}
	}
	if failed != 1 || s[0].UncleanableBytes+s[0].CleanableBytes != w.log.SizeInBytes() {
		t.Fatalf("told %d times, %+v", failed, s[0])
	}
	w.noLeftovers()
}

// A bug that one log brings to light is that log's error.
func TestPanicIsAnError(t *testing.T) {
	w := start(t)
	w.put("a=1")
	w.roll()
	w.cleaner.o.SaveFirstDirty = func(*storage.Log, record.Offset) error { panic("oh") }
	if w.cleaner.Round() {
		t.Fatal("it came to its end")
	}
	if s := w.status(); s.State != Uncleanable || !strings.Contains(s.LastError.Error(), "oh") {
		t.Fatalf("%+v", s)
	}
}

// compact,delete: both apply. Pure compact deletes only what lies below the log start.
func TestRetentionOfCompactedLogs(t *testing.T) {
	for _, both := range []bool{false, true} {
		w := start(t, func(c *storage.Config) { c.RetentionMs, c.CleanupDelete = 3600*1000, both })
		w.put("a=1", "b=1")
		w.roll()
		w.pass(40 * time.Minute)
		w.put("a=2")
		w.sealAndClean()
		w.want("1:b=1", "2:a=2")
		w.pass(40 * time.Minute)
		w.put("c=1")
		w.roll() // the first two were merged; the largest timestamp counts
		w.clean()
		w.want("1:b=1", "2:a=2", "3:c=1")
		w.pass(70 * time.Minute)
		w.clean()
		if both != (w.log.LogStartOffset() == 4) || both != (len(w.contents(storage.LogEnd)) == 0) {
			t.Fatalf("both %v: start %d, %q", both, w.log.LogStartOffset(), w.contents(storage.LogEnd))
		}
	}
	w := start(t)
	w.put("a=1", "b=1")
	w.roll()
	w.put("a=2")
	if err := w.log.DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	w.cleaner.Round()
	if s := w.log.Segments(); len(s) != 1 || s[0].BaseOffset != 2 {
		t.Fatalf("%+v", s)
	}
}

// TestThreads runs the threads on a virtual clock: they follow the settings, stop with Close, and do the work.
func TestThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, vfs.NewMem())
		w.settings.Threads, w.settings.Backoff = 3, time.Minute
		w.open()
		w.cleaner.Start()
		w.cleaner.Start() // once is enough
		synctest.Wait()
		threads := func() int {
			w.cleaner.mu.Lock()
			defer w.cleaner.mu.Unlock()
			return w.cleaner.mu.running
		}
		if n := threads(); n != 3 {
			t.Fatalf("%d threads", n)
		}
		w.put("a=1", "a=2")
		w.roll()
		w.mu.Lock()
		w.settings.Threads = 1
		w.mu.Unlock()
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		if n := threads(); n != 1 || w.status().Runs != 1 {
			t.Fatalf("%d threads, %+v", n, w.status())
		}
		w.cleaner.Close()
		w.log.Abandon()
	})
}

// A run that is throttled can still be stopped at once.
func TestCloseDuringPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, vfs.NewMem())
		w.settings.IOMaxBytesPerSecond = 0.001
		w.open()
		w.put("a=1", "a=2")
		w.roll()
		w.cleaner.Start()
		synctest.Wait()
		began := time.Now()
		w.cleaner.Close()
		if time.Since(began) > 0 || w.status().Runs != 0 || w.status().LastError != nil {
			t.Fatalf("%v, %+v", time.Since(began), w.status())
		}
		w.noLeftovers()
		w.log.Abandon()
	})
}
