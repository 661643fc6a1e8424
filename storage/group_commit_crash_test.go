package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// moment is what a power failure leaves, and what had been acknowledged by then.
type groupMoment struct {
	image *vfs.Mem
	acked []string
	rp    record.Offset
}

// groupStory has producers append at the same time to a log that fsyncs for each, over many segments, and takes a moment
// before every change of the disk.
type groupStory struct {
	*world
	log     atomic.Pointer[Log]
	mu      sync.Mutex
	acked   []string
	moments []groupMoment
}

func (s *groupStory) take(mem *vfs.Mem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := groupMoment{acked: slices.Clone(s.acked)}
	if l := s.log.Load(); l != nil {
		m.rp = l.RecoveryPoint()
	}
	m.image = mem.Crash() // last: what has been acknowledged until now must be in it
	s.moments = append(s.moments, m)
}

// produce appends each records one after the other from each of so many goroutines until one is refused.
func (s *groupStory) produce(writers, each int) {
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				value := fmt.Sprintf("%d of %d", i, w)
				info, err := s.log.Load().Append(batchOf(startMs, value), AppendOptions{})
				if err != nil {
					return
				}
				s.mu.Lock()
				s.acked = append(s.acked, itoa(info.FirstOffset)+"="+value)
				s.mu.Unlock()
			}
		})
	}
	running.Wait()
}

// TestGroupCommitCrash cuts the power before every change of the disk while producers share fsyncs: at no moment is an
// acknowledged record missing afterwards, whether the fsync was one of the log alone or of all its files.
func TestGroupCommitCrash(t *testing.T) {
	mem := disk(t)
	s := &groupStory{}
	s.world = worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind.Changes() {
			s.take(mem)
		}
		return nil
	})).small()
	s.config.FlushMessages = 1
	l := s.open()
	s.log.Store(l)
	s.produce(6, 12)
	s.take(mem)
	l.Abandon()
	if len(s.acked) != 6*12 {
		t.Fatalf("%d records were acknowledged", len(s.acked))
	}
	behind := false
	for i, m := range s.moments {
		w := worldOn(t, m.image).small()
		l := w.open(recoverFrom(m.rp))
		got := w.contents(l)
		for _, want := range m.acked {
			if !slices.Contains(got, want) {
				t.Fatalf("cut %d of %d: %q was acknowledged and is lost; there are %d records, the recovery point was %d", i, len(s.moments), want, len(got), m.rp)
			}
		}
		behind = behind || len(m.acked) > 0 && len(got) > int(m.rp)
		l.Abandon()
	}
	if !behind {
		t.Error("the recovery point never was behind what was acknowledged: no log was fsynced without its indexes")
	}
}

// TestGroupCommitFault lets each fsync of a log fail in turn: nobody whose records it should have covered is told that
// they are durable, nobody waits for ever, and what was acknowledged before is there after a power failure.
func TestGroupCommitFault(t *testing.T) {
	broken := errors.New("the disk is broken")
	for at := int64(1); ; at++ {
		mem := disk(t)
		var syncs atomic.Int64
		s := &groupStory{world: worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpSync && strings.HasSuffix(op.Path, segmentLog) && syncs.Add(1) == at {
				return broken
			}
			return nil
		})).small()}
		s.config.FlushMessages = 1
		l := s.open()
		s.log.Store(l)
		s.produce(4, 6)
		if syncs.Load() < at {
			l.Abandon()
			if at < 7 || len(s.acked) != 4*6 {
				t.Errorf("%d fsyncs were made to fail; without a fault %d records were acknowledged", at-1, len(s.acked))
			}
			return
		}
		if !errors.Is(l.Err(), ErrStorage) || len(s.failed) != 1 {
			t.Errorf("fsync %d failed: the log says %v, the owner was told %d times", at, l.Err(), len(s.failed))
		}
		rp := l.RecoveryPoint()
		l.Abandon()
		w := worldOn(t, mem.Crash()).small()
		after := w.open(recoverFrom(rp))
		got := w.contents(after)
		for _, want := range s.acked {
			if !slices.Contains(got, want) {
				t.Errorf("fsync %d failed: %q was acknowledged and is lost", at, want)
			}
		}
		after.Abandon()
	}
}

const segmentLog = ".log"

// TestSyncAfterTheProcessDied: what a process that died had left to the system is not durable because another one has
// read it. The first flush fsyncs it.
func TestSyncAfterTheProcessDied(t *testing.T) {
	mem := disk(t)
	w := worldOn(t, mem).small()
	l := w.open()
	w.fill(l, 40)
	want := w.contents(l)
	l.Abandon()
	again := w.open()
	if err := again.Flush(again.LogEndOffset()); err != nil {
		t.Fatal(err)
	}
	rp := again.RecoveryPoint()
	again.Abandon()
	after := worldOn(t, mem.Crash()).small()
	l = after.open(recoverFrom(rp))
	defer l.Abandon()
	if got := after.contents(l); !slices.Equal(got, want) {
		t.Errorf("%d of %d records survived a power failure, the recovery point was %d", len(got), len(want), rp)
	}
}
