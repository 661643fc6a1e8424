package cleaner

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

func small(c *storage.Config) {
	c.SegmentBytes, c.DeleteRetentionMs = 400, 1000
}

// chapter appends what compaction can lose in every way: superseded records, tombstones, transactions over segments, an
// idle producer; and makes it durable.
func (w *world) chapter(n int) error {
	idle := from{id: record.ProducerID(100 + n)}
	w.send(idle, fmt.Sprintf("idle%d=1", n), "x=idle")
	good, bad := from{id: 1, transactional: true}, from{id: 2, transactional: true}
	for i := range 4 {
		w.send(good, fmt.Sprintf("k%d=%d.%d", i, n, i), "x=good")
		w.send(bad, fmt.Sprintf("k%d=bad", i))
		w.put(fmt.Sprintf("p%d=%d", i, n), fmt.Sprintf("t%d=%d", i, n))
	}
	w.end(bad, record.ControlAbort)
	w.end(good, record.ControlCommit)
	w.put(fmt.Sprintf("t%d", n%4))
	if err := w.log.Roll(); err != nil {
		return err
	}
	return w.log.Flush(w.log.LogEndOffset())
}

// tell appends and compacts twice, in the long form three times; during is called before each compaction and after the last.
func (w *world) tell(during func(compacting bool)) {
	for n := range longtest.Pick(2, 3) {
		during(false)
		if err := w.chapter(n); err != nil {
			w.t.Fatal(err)
		}
		w.pass(0)
		during(true)
		for w.cleaner.Round() {
		}
		w.pass(2 * time.Second)
	}
	during(true)
}

// disk has a durable directory for logs.
func disk(t testing.TB) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("/data", 0o755), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return mem
}

type cut struct {
	op     string
	images []*vfs.Mem
	rp     record.Offset
	end    record.Offset
	saved  map[record.TopicPartition]record.Offset
	latest map[string]string
	known  map[record.ProducerID]string
}

// TestCrash cuts the power before every operation of compaction that changes the disk. The next start finds every
// record that a reader must get, at the same log end, with the same producers; the one after finds the same files; and
// compaction goes on to the same result. The short form takes one of three images of each cut in turn, two while
// segments are swapped, and lets every fourth go on.
func TestCrash(t *testing.T) {
	mem := disk(t)
	var cuts []cut
	var w *world
	var c cut
	armed := false
	take := func(op string) {
		c.op, c.rp, c.images = op, w.log.RecoveryPoint(), images(mem, op, len(cuts))
		c.saved = maps.Clone(w.saved)
		cuts = append(cuts, c)
	}
	w = newWorld(t, vfs.NewFault(mem, func(op vfs.Op) error {
		if armed && op.Kind.Changes() {
			armed = false
			take(op.String())
			armed = true
		}
		return nil
	}), small)
	w.open()
	w.tell(func(compacting bool) {
		armed = false
		if compacting {
			c = cut{latest: w.latest(), known: known(w.log.Producers()), end: w.log.LogEndOffset()}
			armed = true
		}
	})
	armed = false
	take("end")
	w.mustBeWell()
	w.log.Abandon()
	if len(cuts) < 150 {
		t.Fatalf("only %d cuts", len(cuts))
	}
	swaps, all := 0, 0
	for n, c := range cuts {
		if strings.Contains(c.op, ".swap") {
			swaps++
		}
		for i, image := range c.images {
			c.verify(t, i, image, longtest.On() || n%4 == 0)
			all++
		}
	}
	if swaps < 20 {
		t.Fatalf("only %d cuts between renames", swaps)
	}
	t.Logf("%d cuts, %d of them while swapping, %d images", len(cuts), swaps, all)
}

// images are what a power failure may leave now, before the operation op, cut number n.
func images(mem *vfs.Mem, op string, n int) []*vfs.Mem {
	all := longtest.On() || strings.Contains(op, ".swap")
	var out []*vfs.Mem
	if all || n%3 == 0 {
		out = append(out, mem.Crash())
	}
	if all || n%3 != 0 {
		for seed := range longtest.Pick(uint64(1), 10) {
			out = append(out, mem.CrashKeeping(seed<<32+uint64(n)))
		}
	}
	return out
}

func (c *cut) verify(t *testing.T, i int, image *vfs.Mem, goOn bool) {
	t.Helper()
	at := fmt.Sprintf("cut before %s, image %d", c.op, i)
	w := newWorld(t, image, small)
	w.saved = maps.Clone(c.saved)
	open := func() {
		w.open(func(o *storage.Options) { o.RecoveryPoint = c.rp })
		if got := w.log.LogEndOffset(); got != c.end {
			t.Fatalf("%s: the log ends at %d, it ended at %d", at, got, c.end)
		}
		wantEqual(t, at, w.latest(), c.latest)
		if got := known(w.log.Producers()); !maps.Equal(got, c.known) {
			t.Fatalf("%s: producers %v, want %v", at, got, c.known)
		}
	}
	open()
	files := w.files()
	w.log.Abandon()
	open()
	if again := w.files(); !maps.EqualFunc(files, again, bytes.Equal) {
		t.Fatalf("%s: the second start changed the files from\n%q to\n%q", at, slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(again)))
	}
	if goOn {
		w.clean()
		wantEqual(t, at+", compacted", w.latest(), c.latest)
	}
	w.log.Abandon()
}

func (w *world) files() map[string][]byte {
	w.t.Helper()
	out := map[string][]byte{}
	for _, n := range w.names() {
		out[n] = readFile(w.t, w.fs, dir0+"/"+n)
	}
	return out
}

// TestFault lets every operation of compaction fail, one after the other. A failed change takes the log offline, once;
// a failed read is the status's; a full disk is neither, and the next round does it. In no case is a record lost.
func TestFault(t *testing.T) {
	boom := errors.New("boom")
	for name, fault := range map[string]error{
		"whole": boom, "partial": &vfs.Partial{Keep: 30, Err: boom}, "full": syscall.ENOSPC, "read": boom,
	} {
		t.Run(name, func(t *testing.T) {
			count := 0
			for n := int64(1); faultAt(t, n, name, fault); n++ {
				count++
			}
			if count < 10 {
				t.Fatalf("only %d faults", count)
			}
			t.Logf("%d faults injected", count)
		})
	}
}

// faultAt lets the n-th operation fail; false if there is none.
func faultAt(t *testing.T, n int64, name string, fault error) bool {
	t.Helper()
	mem := disk(t)
	var what string
	armed := false
	matches := func(op vfs.Op) bool {
		switch name {
		case "read":
			return armed && (op.Kind == vfs.OpRead || op.Kind == vfs.OpStat && !strings.Contains(op.Path, segment.CleanedSuffix))
		case "full":
			return armed && (op.Kind == vfs.OpWrite || op.Kind == vfs.OpOpen)
		}
		return armed && op.Kind.Changes() && (name != "partial" || op.Kind == vfs.OpWrite) // others are never done in part
	}
	inject := vfs.FailNth(n, matches, fault)
	w := newWorld(t, vfs.NewFault(mem, func(op vfs.Op) error {
		err := inject(op)
		if err != nil {
			what = op.String()
		}
		return err
	}), small)
	w.open()
	if err := w.chapter(0); err != nil {
		t.Fatal(err)
	}
	if err := w.chapter(1); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	latest, end := w.latest(), w.log.LogEndOffset()
	armed = true
	for w.cleaner.Round() {
	}
	w.pass(2 * time.Second)
	armed = false
	w.checkFault(what, name, fault)
	rp := w.log.RecoveryPoint()
	if w.log.Err() == nil {
		wantEqual(t, what, w.latest(), latest)
		if name == "full" && what != "" {
			for w.cleaner.Round() {
			}
			if s := w.status(); s.CleanableBytes != 0 || s.Runs == 0 {
				t.Fatalf("%s: not compacted when there was room: %+v", what, s)
			}
		}
	}
	w.log.Abandon()
	w.fs, w.handles = mem, vfs.NewHandles(mem, 64)
	w.open(func(o *storage.Options) { o.RecoveryPoint = rp })
	wantEqual(t, what, w.latest(), latest)
	if got := w.log.LogEndOffset(); got != end {
		t.Fatalf("%s: the log ends at %d, it ended at %d", what, got, end)
	}
	w.log.Abandon()
	return what != ""
}

func (w *world) checkFault(what, name string, fault error) {
	w.t.Helper()
	if what == "" {
		w.mustBeWell()
		return
	}
	s := w.status()
	switch name {
	case "full":
		if w.log.Err() != nil {
			w.t.Fatalf("%s: %v", what, w.log.Err())
		}
	case "read":
		if w.log.Err() != nil || s.LastError != nil && !errors.Is(s.LastError, fault) {
			w.t.Fatalf("%s: the log has %v, the status %+v", what, w.log.Err(), s)
		}
	default:
		if !errors.Is(w.log.Err(), storage.ErrStorage) || len(w.failed) != 1 {
			w.t.Fatalf("%s: the log has %v, the owner heard %v", what, w.log.Err(), w.failed)
		}
	}
}
