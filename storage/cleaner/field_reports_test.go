package cleaner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// TestT07CompactedBelowLogStart: segments wholly below the log start of a topic that is only compacted are removed
// (KAFKA-7400). There they got while the topic allowed DeleteRecords, which compacted ones do not.
func TestT07CompactedBelowLogStart(t *testing.T) {
	w := start(t, func(c *storage.Config) {
		c.SegmentBytes, c.CleanupCompact, c.CleanupDelete, c.RetentionMs = 300, false, false, 1
	})
	for i := range 40 {
		w.put(fmt.Sprintf("k%d=%d", i, i))
	}
	w.roll()
	if err := w.log.DeleteRecords(30); err != nil {
		t.Fatal(err)
	}
	w.setConfig(func(c *storage.Config) { c.CleanupCompact = true })
	before := w.log.SizeInBytes()
	w.cleaner.Round()
	w.clean()
	s := w.log.Segments()
	if s[0].BaseOffset > 30 || s[0].NextBaseOffset <= 30 || w.log.SizeInBytes() > before/2 {
		t.Fatalf("the first segment is %+v; %d of %d bytes are left", s[0], w.log.SizeInBytes(), before)
	}
	if got := w.contents(storage.LogEnd); len(got) != 10 || got[0] != "30:k30=30" {
		t.Fatalf("%q", got)
	}
	w.pass(2e9)
	for _, n := range w.names() {
		if strings.HasSuffix(n, segment.DeletedSuffix) {
			t.Fatalf("%s is left", n)
		}
	}
}

// TestT11PolicyFlippedWhileCleaning changes cleanup.policy at operations of a run that change the disk, back and forth, while
// others read: a run is aborted or comes to its end; at no moment is a record gone that is some key's last (KAFKA-12840).
func TestT11PolicyFlippedWhileCleaning(t *testing.T) {
	rounds := longtest.Pick(40, 1000)
	aborted, finished, flips := 0, int64(0), 0
	for round := range rounds {
		var w *world
		armed, ops := false, 0
		var want map[string]string
		read := func(at string) {
			if got := w.latest(); !maps.Equal(got, want) {
				t.Fatalf("round %d, %s: %v, want %v", round, at, got, want)
			}
		}
		w = newWorld(t, vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if !armed || !op.Kind.Changes() {
				return nil
			}
			// A swap holds the log's lock, under which nobody may call in; the configuration needs none.
			if ops++; ops%(round%40+1) == 0 {
				flips++
				w.setConfig(func(c *storage.Config) { c.CleanupCompact, c.CleanupDelete = !c.CleanupCompact, !c.CleanupDelete })
			}
			if op.Kind == vfs.OpWrite && strings.HasSuffix(op.Path, ".log.cleaned") {
				armed = false
				read("beside a run")
				armed = true
			}
			return nil
		}), small, func(c *storage.Config) { c.RetentionMs = 1 << 40 })
		w.settings.IOBufferBytes = 0
		w.open()
		for i := range 40 {
			w.put(fmt.Sprintf("k%d=%d", i%7, i))
		}
		w.roll()
		want = w.latest()
		armed = true
		for range 6 {
			if !w.cleaner.Round() {
				aborted++
			}
			armed = false
			read("after a run")
			w.noLeftovers()
			w.setConfig(func(c *storage.Config) { c.CleanupCompact, c.CleanupDelete = true, false })
			armed = true
		}
		armed = false
		w.clean()
		read("compacted")
		finished += w.status().Runs
		w.cleaner.Close()
		w.log.Abandon()
	}
	if aborted == 0 || finished == 0 || flips < rounds {
		t.Fatalf("%d runs aborted, %d finished, %d flips", aborted, finished, flips)
	}
	t.Logf("%d rounds, %d flips, %d runs aborted or idle, %d finished", rounds, flips, aborted, finished)
}

// TestT11FlippedInALoop is the same from threads of their own: one flips, one cleans, one reads.
func TestT11FlippedInALoop(t *testing.T) {
	w := start(t, small, func(c *storage.Config) { c.RetentionMs = 1 << 40 })
	for i := range 60 {
		w.put(fmt.Sprintf("k%d=%d", i%7, i))
	}
	w.roll()
	want := w.latest()
	compacted := w.config
	deleted := compacted
	deleted.CleanupCompact, deleted.CleanupDelete = false, true
	stop := make(chan struct{})
	var others sync.WaitGroup
	loop := func(f func()) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	loop(func() { w.log.SetConfig(deleted); w.log.SetConfig(compacted) })
	loop(func() { w.cleaner.Round() })
	for range longtest.Pick(300, 20000) {
		if got := w.latest(); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
			break
		}
	}
	close(stop)
	others.Wait()
	w.log.SetConfig(compacted)
	w.clean()
	wantEqual(t, "in the end", w.latest(), want)
	w.noLeftovers()
}

// TestI12IndexAfterCompaction compacts with large gaps and asks for every offset: what the indexes say is a batch's
// beginning, after compaction, when they are made anew from the log, and after the next start.
func TestI12IndexAfterCompaction(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.SegmentBytes, c.IndexIntervalBytes = 3000, 1 })
	for i := range 600 {
		w.put(fmt.Sprintf("k%d=%d", min(i%97, 5+i/10), i))
	}
	w.sealAndClean()
	check := func(when string) {
		t.Helper()
		list, _ := w.batches(storage.LogEnd)
		for at := range w.log.LogEndOffset() {
			info, err := w.log.Read(at, storage.LogEnd, 1, true)
			if err != nil || info.Region.Length == 0 {
				t.Fatalf("%s: read at %d: %+v, %v", when, at, info, err)
			}
			b := make(record.Batch, info.Region.Length)
			if err := info.Region.ReadInto(b); err != nil || b.CheckCRC() != nil {
				t.Fatalf("%s: read at %d: %v", when, at, err)
			}
			info.Region.Release()
			i := slices.IndexFunc(list, func(x record.Batch) bool { return x.LastOffset() >= at })
			if b.BaseOffset() != list[i].BaseOffset() {
				t.Fatalf("%s: read at %d gave the batch at %d, want %d", when, at, b.BaseOffset(), list[i].BaseOffset())
			}
		}
		entries := 0
		for _, s := range w.log.Segments() {
			starts := map[int64]record.Offset{}
			data := readFile(t, w.fs, s.Path)
			for sc := record.NewScanner(data); sc.Next(); {
				starts[int64(len(data)-len(sc.Rest())-len(sc.Batch()))] = sc.Batch().LastOffset()
			}
			x, err := index.OpenOffset(w.handles, strings.TrimSuffix(s.Path, ".log")+".index", s.BaseOffset, 1<<16, false)
			if err != nil {
				t.Fatal(err)
			}
			for i := range x.Entries() {
				off, pos, err := x.Entry(i)
				if last, ok := starts[int64(pos)]; err != nil || !ok || off > last {
					t.Fatalf("%s: entry %d of %s is (%d, %d), %v: no batch begins there", when, i, x.Path(), off, pos, err)
				}
				entries++
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if entries < 20 {
			t.Fatalf("%s: only %d entries", when, entries)
		}
	}
	check("compacted")
	w.reopen()
	check("after a restart")
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.names() {
		if strings.HasSuffix(n, "index") {
			if err := w.fs.Remove(dir0 + "/" + n); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.open(func(o *storage.Options) { o.Clean = true })
	check("made anew")
}
