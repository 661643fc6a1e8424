package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// story is a run of a log with everything that writes, and a record of what was promised.
type story struct {
	*world
	log atomic.Pointer[Log]
	// asked are all records handed to Append, "offset=value", acked how many of them were acknowledged.
	asked []string
	acked int
	// start is the log start asked for.
	start record.Offset
	// closed is set when Close has returned.
	closed bool
	seq    record.Sequence
}

// small makes logs roll every few batches.
func (w *world) small() *world {
	w.config.SegmentBytes, w.config.IndexIntervalBytes, w.config.SegmentIndexBytes = 600, 100, 4096
	w.config.FileDeleteDelayMs = 1000
	return w
}

func (s *story) say(n int) error {
	l := s.log.Load()
	for range n {
		at := record.Offset(len(s.asked))
		o := record.DefaultBuilderOptions()
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = 7, 0, s.seq
		b := record.NewBuilder(o)
		for i := range record.Offset(2) {
			v := fmt.Sprintf("value %d %s", at+i, strings.Repeat("x", int(at%40)))
			b.Append(startMs+int64(at), nil, []byte(v), nil)
			s.asked = append(s.asked, itoa(at+i)+"="+v)
		}
		if _, err := l.Append(b.Build(), AppendOptions{LeaderEpoch: 1}); err != nil {
			return err
		}
		s.seq = s.seq.Add(2)
		s.acked = len(s.asked)
		l.SetHighWatermark(l.LogEndOffset())
	}
	return nil
}

// tell runs the story until something fails. With deletes, records and segments go as well.
func (s *story) tell(deletes bool) error {
	l, err := Open(s.options())
	if err != nil {
		return err
	}
	s.log.Store(l)
	defer l.Abandon()
	if err := l.AssignLeaderEpoch(1); err != nil {
		return err
	}
	for round := range 4 {
		if err := s.say(7); err != nil {
			return err
		}
		s.pass(500 * time.Millisecond)
		if err := s.say(3); err != nil {
			return err
		}
		if round%2 == 1 {
			if err := l.Flush(l.LogEndOffset()); err != nil {
				return err
			}
		}
		if deletes {
			s.start = record.Offset(len(s.asked)) / 2
			if err := l.DeleteRecords(s.start); err != nil {
				return err
			}
			if _, err := l.DeleteOldSegments(); err != nil {
				return err
			}
		}
	}
	s.pass(2 * time.Second)
	if err := l.Close(); err != nil {
		return err
	}
	s.closed = true
	return nil
}

// disk has a directory for logs, which is durable.
func disk(t *testing.T) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("/data", 0o755), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return mem
}

// cut is a power failure and what had been promised then.
type cut struct {
	op            string
	images        []*vfs.Mem
	asked         []string
	acked         int
	start         record.Offset
	recoveryPoint record.Offset
	closed        bool
}

// TestCrash cuts the power before every operation that changes the disk, with nothing and with some of the unsynced
// writes on disk, and opens what is left. What was flushed is there; of the rest a beginning; nothing else.
func TestCrash(t *testing.T) {
	for _, deletes := range []bool{false, true} {
		t.Run(fmt.Sprintf("deletes=%v", deletes), func(t *testing.T) {
			mem := disk(t)
			var cuts []cut
			var s *story
			take := func(op string) {
				c := cut{op: op, asked: slices.Clone(s.asked), acked: s.acked, start: s.start, closed: s.closed}
				if l := s.log.Load(); l != nil {
					c.recoveryPoint = l.RecoveryPoint()
				}
				c.images = []*vfs.Mem{mem.Crash()}
				for seed := range longtest.Pick(uint64(2), 20) {
					c.images = append(c.images, mem.CrashKeeping(seed<<32+uint64(len(cuts))))
				}
				cuts = append(cuts, c)
			}
			s = &story{world: worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Kind.Changes() {
					take(op.String())
				}
				return nil
			})).small()}
			if err := s.tell(deletes); err != nil {
				t.Fatal(err)
			}
			take("end")
			if len(cuts) < 100 {
				t.Fatalf("only %d cuts", len(cuts))
			}
			for _, c := range cuts {
				for i, image := range c.images {
					c.verify(t, i, image)
				}
			}
			t.Logf("cut before %d operations, %d images each", len(cuts), len(cuts[0].images))
		})
	}
}

func (c *cut) verify(t *testing.T, i int, image *vfs.Mem) {
	t.Helper()
	w := worldOn(t, image).small()
	at := fmt.Sprintf("cut before %s, image %d", c.op, i)
	o := w.options()
	o.RecoveryPoint, o.Clean = c.recoveryPoint, c.closed
	l, err := Open(o)
	if err != nil {
		t.Fatalf("%s: open: %v", at, err)
	}
	got := w.contents(l)
	end := int(l.LogEndOffset())
	if end < int(c.recoveryPoint) || c.closed && end != c.acked {
		t.Fatalf("%s: the log ends at %d, flushed were %d of %d", at, end, c.recoveryPoint, c.acked)
	}
	if end > len(c.asked) {
		t.Fatalf("%s: the log ends at %d, only %d were sent", at, end, len(c.asked))
	}
	if first := int(l.LogStartOffset()); first > int(c.start) && first < end {
		t.Fatalf("%s: the log starts at %d, deleted was up to %d", at, first, c.start)
	} else if !slices.Equal(got, c.asked[min(first, end):end]) {
		t.Fatalf("%s: %d..%d is\n%q", at, first, end, got)
	}
	for _, e := range w.events {
		if e.Kind == DamageKept {
			t.Fatalf("%s: %v", at, e)
		}
	}
	w.goOn(t, at, l, got)
}

// goOn appends to a recovered log, stops it in order, and finds everything again.
func (w *world) goOn(t *testing.T, at string, l *Log, got []string) {
	t.Helper()
	end := l.LogEndOffset()
	info, err := l.Append(batchOf(startMs, "more"), AppendOptions{LeaderEpoch: 2})
	if err != nil || info.FirstOffset != end {
		t.Fatalf("%s: append at %d: %+v, %v", at, end, info, err)
	}
	w.close(l)
	l = w.open(clean)
	defer l.Abandon()
	if again := w.contents(l); !slices.Equal(again, append(got, itoa(end)+"=more")) {
		t.Fatalf("%s: after a clean restart\n%q", at, again)
	}
}

// TestFault lets every operation that changes the disk fail, one after the other. From then on the log takes no
// writes, says so once, and loses nothing that was acknowledged.
func TestFault(t *testing.T) {
	boom := errors.New("boom")
	for _, kind := range []string{"whole", "partial"} {
		for n, failed := int64(1), true; failed; n++ {
			mem := disk(t)
			failed = false
			fault := error(boom)
			if kind == "partial" {
				fault = &vfs.Partial{Keep: 30, Err: boom}
			}
			var what string
			inject := vfs.FailNth(n, func(op vfs.Op) bool { return op.Kind.Changes() }, fault)
			s := &story{world: worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
				err := inject(op)
				if err != nil {
					failed, what = true, op.String()
				}
				return err
			})).small()}
			err := s.tell(true)
			if !failed {
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d %s faults injected", n-1, kind)
				break
			}
			s.checkFault(t, fmt.Sprintf("%s fault at %s", kind, what), err, boom)
			s.checkKept(t, fmt.Sprintf("%s fault at %s", kind, what), mem)
		}
	}
}

func (s *story) checkFault(t *testing.T, at string, err, boom error) {
	t.Helper()
	l := s.log.Load()
	if l == nil { // opening failed
		if !errors.Is(err, ErrStorage) || !errors.Is(err, boom) {
			t.Fatalf("%s: open: %v", at, err)
		}
		return
	}
	if err == nil {
		t.Fatalf("%s: nobody noticed", at)
	}
	if !errors.Is(err, ErrStorage) || !errors.Is(l.Err(), boom) || len(s.failed) != 1 || !errors.Is(s.failed[0], boom) {
		t.Fatalf("%s: the caller got %v, the log has %v, the owner heard %v", at, err, l.Err(), s.failed)
	}
}

// checkKept opens the directory as the next process finds it: without a power failure all acknowledged records are there.
func (s *story) checkKept(t *testing.T, at string, mem *vfs.Mem) {
	t.Helper()
	w := worldOn(t, mem).small()
	rp := record.Offset(0)
	if l := s.log.Load(); l != nil {
		rp = l.RecoveryPoint()
	}
	l := w.open(recoverFrom(rp))
	defer l.Abandon()
	got, end, first := w.contents(l), int(l.LogEndOffset()), int(l.LogStartOffset())
	if end < s.acked || end > len(s.asked) || first > int(s.start) || !slices.Equal(got, s.asked[first:end]) {
		t.Fatalf("%s: %d..%d of %d acknowledged, %d sent, start %d:\n%q", at, first, end, s.acked, len(s.asked), s.start, got)
	}
}
