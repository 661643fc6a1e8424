package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// fillable is a file system that can be full: then nothing new is created, and a write gets as far as keep bytes.
type fillable struct {
	*vfs.Fault
	full atomic.Bool
	keep atomic.Int64
	// onChange runs before each operation that changes something, with its number.
	onChange func(n int)
	changes  int
}

func newFillable() *fillable {
	d := &fillable{}
	mem := vfs.NewMem()
	d.Fault = vfs.NewFault(mem, func(op vfs.Op) error {
		creates := op.Kind == vfs.OpOpen && op.Flag&os.O_CREATE != 0
		if op.Kind.Changes() || creates {
			d.changes++
			if d.onChange != nil {
				d.onChange(d.changes)
			}
		}
		if !d.full.Load() {
			return nil
		}
		switch {
		case op.Kind == vfs.OpWrite:
			return &vfs.Partial{Keep: int(d.keep.Load()), Err: syscall.ENOSPC}
		case op.Kind == vfs.OpMkdir:
			return syscall.ENOSPC
		case creates:
			if _, err := mem.Stat(op.Path); errors.Is(err, fs.ErrNotExist) {
				return syscall.ENOSPC
			}
		}
		return nil
	})
	return d
}

// tale is a run of a producer that repeats what was refused for want of room, as clients do.
type tale struct {
	*world
	d       *fillable
	log     *Log
	asked   []string
	aborted []record.Offset // last offsets of aborted transactions
	seq     record.Sequence
	refused int
}

// try repeats f until it is not refused for want of room; after some refusals there is room again.
func (s *tale) try(what string, f func() error) {
	s.t.Helper()
	for i := 0; ; i++ {
		err := f()
		if err == nil {
			return
		}
		if !errors.Is(err, ErrShortage) || !errors.Is(err, ErrStorage) || !vfs.IsFull(err) {
			s.t.Fatalf("%s: %v", what, err)
		}
		if s.refused++; i == 2 {
			s.d.full.Store(false)
		}
		if i > 2 {
			s.t.Fatalf("%s: still refused: %v", what, err)
		}
	}
}

func (s *tale) produce(values ...string) {
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 7, 0, s.seq
	b := record.NewBuilder(o)
	for _, v := range values {
		b.Append(startMs+int64(len(s.asked)), nil, []byte(v), nil)
	}
	batch := b.Build()
	s.try("append", func() error {
		info, err := s.log.Append(slices.Clone(batch), AppendOptions{LeaderEpoch: 1})
		if err == nil {
			for i, v := range values {
				s.asked = append(s.asked, itoa(info.FirstOffset+record.Offset(i))+"="+v)
			}
		}
		return err
	})
	s.seq = s.seq.Add(int32(len(values)))
	s.log.SetHighWatermark(s.log.LogEndOffset())
}

// abort writes a transaction of one record and its abort marker.
func (s *tale) abort(seq record.Sequence) {
	p := from{id: 9, seq: seq, transactional: true}
	s.try("transactional append", func() error {
		info, err := s.log.Append(p.batch(1), AppendOptions{LeaderEpoch: 1})
		if err == nil {
			s.asked = append(s.asked, itoa(info.FirstOffset)+"=value")
		}
		return err
	})
	s.try("marker", func() error {
		info, err := s.log.Append(p.marker(record.ControlAbort, 0), AppendOptions{Origin: Coordinator, LeaderEpoch: 1})
		if err == nil {
			s.aborted = append(s.aborted, info.LastOffset)
		}
		return err
	})
	s.log.SetHighWatermark(s.log.LogEndOffset())
}

func (s *tale) run() {
	s.try("open", func() (err error) {
		o := s.options()
		o.SkipTxnVerification = true
		s.log, err = Open(o)
		return err
	})
	s.try("epoch", func() error { return s.log.AssignLeaderEpoch(1) })
	for round := range record.Sequence(3) {
		for i := range 6 {
			s.produce(fmt.Sprintf("%d.%d %s", round, i, strings.Repeat("x", 20*i)), "second")
		}
		s.abort(round)
		s.pass(500 * time.Millisecond)
		s.try("flush", func() error { return s.log.Flush(s.log.LogEndOffset()) })
		s.try("delete records", func() error { return s.log.DeleteRecords(record.Offset(round) * 5) })
		s.try("retention", func() error { _, err := s.log.DeleteOldSegments(); return err })
		s.pass(time.Hour)
	}
}

// check looks at what the log holds, and that it neither failed nor lost an aborted transaction.
func (s *tale) check(l *Log, when string) {
	s.t.Helper()
	if len(s.failed) > 0 || l.Err() != nil {
		s.t.Fatalf("%s: the log failed: %v %v", when, s.failed, l.Err())
	}
	var want []string
	for _, r := range s.asked {
		if offsetOf(r) >= l.LogStartOffset() {
			want = append(want, r)
		}
	}
	if got := s.contents(l); !slices.Equal(got, want) {
		s.t.Fatalf("%s:\n got %v\nwant %v", when, got, want)
	}
	l.SetHighWatermark(l.LogEndOffset())
	var aborted []record.Offset
	for o := l.LogStartOffset(); o < l.LogEndOffset(); {
		info, err := l.Read(o, TxnCommitted, 1<<20, true)
		if err != nil {
			s.t.Fatalf("%s: %v", when, err)
		}
		o = s.endOf(&info)
		for _, a := range info.Aborted {
			if !slices.Contains(aborted, a.LastOffset) {
				aborted = append(aborted, a.LastOffset)
			}
		}
	}
	wanted := slices.DeleteFunc(slices.Clone(s.aborted), func(o record.Offset) bool { return o < l.LogStartOffset() })
	if !slices.Equal(aborted, wanted) {
		s.t.Fatalf("%s: aborted transactions end at %v, should be %v", when, aborted, wanted)
	}
}

// endOf reads the region and returns the offset behind it.
func (s *tale) endOf(info *ReadInfo) record.Offset {
	defer info.Region.Release()
	buf := make([]byte, info.Region.Length)
	if err := info.Region.ReadInto(buf); err != nil {
		s.t.Fatal(err)
	}
	end := record.NoOffset
	for sc := record.NewScanner(buf); sc.Next(); {
		end = sc.Batch().Header().NextOffset()
	}
	if end < 0 {
		s.t.Fatal("nothing was read")
	}
	return end
}

// offsetOf is the offset in "offset=value".
func offsetOf(r string) record.Offset {
	var o record.Offset
	fmt.Sscanf(r, "%d=", &o)
	return o
}

// R-13, T-13: wherever the disk is found full, the log refuses what has no room, forgets nothing, is not torn, does not
// fail, and goes on once there is room.
func TestR13FullDiskAtEveryOperation(t *testing.T) {
	refusals, runs := 0, 0
	for _, flush := range []int64{1, 1 << 62} {
		for _, keep := range []int64{0, 50} {
			for n := 1; ; n++ {
				d := newFillable()
				s := &tale{world: worldOn(t, d).small(), d: d}
				s.config.FlushMessages = flush
				reached := false
				d.keep.Store(keep)
				d.onChange = func(at int) {
					if at == n {
						reached = true
						d.full.Store(true)
					}
				}
				s.run()
				s.check(s.log, fmt.Sprintf("full at %d", n))
				d.full.Store(false)
				d.onChange = nil
				s.finish(n)
				refusals += s.refused
				runs++
				if !reached {
					break
				}
			}
		}
	}
	t.Logf("disk found full at %d operations, %d calls refused", runs, refusals)
	if refusals < 200 {
		t.Errorf("only %d calls were refused", refusals)
	}
}

// finish ends the run by a crash of the process or in order, and looks again.
func (s *tale) finish(n int) {
	s.t.Helper()
	start, rp := s.log.LogStartOffset(), s.log.RecoveryPoint()
	if n%2 == 0 {
		s.log.Abandon()
		l := s.open(func(o *Options) { o.LogStartOffset, o.RecoveryPoint = start, rp })
		defer l.Abandon()
		s.check(l, fmt.Sprintf("killed after full at %d", n))
		return
	}
	s.close(s.log)
	l := s.open(clean, func(o *Options) { o.LogStartOffset, o.RecoveryPoint = start, s.log.RecoveryPoint() })
	defer l.Abandon()
	s.check(l, fmt.Sprintf("closed after full at %d", n))
	for _, e := range s.events {
		if e.Kind >= TailCut && e.Kind != Refused {
			s.t.Fatalf("full at %d: %v", n, e)
		}
	}
}

// An fsync that fails is final whatever its reason: what the kernel has dropped cannot be written again.
func TestFullDiskFoundByFsyncIsFinal(t *testing.T) {
	fail := false
	w := worldOn(t, vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if fail && op.Kind == vfs.OpSync && strings.HasSuffix(op.Path, ".log") {
			return syscall.ENOSPC
		}
		return nil
	}))
	l := w.open()
	defer l.Abandon()
	w.append(l, batchOf(startMs, "a"), AppendOptions{})
	fail = true
	if err := l.Flush(l.LogEndOffset()); !errors.Is(err, ErrStorage) || errors.Is(err, ErrShortage) {
		t.Errorf("flush: %v", err)
	}
	fail = false
	if _, err := l.Append(batchOf(startMs, "b"), AppendOptions{}); !errors.Is(err, ErrStorage) || len(w.failed) != 1 {
		t.Errorf("append after a failed fsync: %v, told %v", err, w.failed)
	}
}

// without a descriptor the log refuses and goes on, like on a full disk.
func TestR29NoDescriptorIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := false
		w := worldOn(t, vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if none && op.Kind == vfs.OpOpen {
				return syscall.EMFILE
			}
			return nil
		})).small()
		l := w.open()
		defer l.Abandon()
		for i := range 20 {
			none = i%2 == 1
			_, err := l.Append(batchOf(startMs, strings.Repeat("y", 400)), AppendOptions{})
			if err != nil && (!errors.Is(err, ErrShortage) || !none) {
				t.Fatalf("append %d: %v", i, err)
			}
		}
		none = false
		if l.Err() != nil || len(w.failed) > 0 {
			t.Errorf("the log failed: %v", l.Err())
		}
		if got := l.LogEndOffset(); got < 10 || int(got) != len(w.contents(l)) {
			t.Errorf("end %d, %d records", got, len(w.contents(l)))
		}
	})
}
