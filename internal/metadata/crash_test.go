package metadata

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// moment is what a power failure leaves, and what had been promised by then.
type moment struct {
	op          string
	disk        *vfs.Mem
	acked       int
	asked       int
	epoch       int32
	isFormatted bool
}

// tell runs a Store through its life on a file system that keeps a copy of what a crash would leave before each
// operation that changes something.
func tell(t *testing.T, crash func(m *vfs.Mem, n int64) *vfs.Mem) []moment {
	mem := vfs.NewMem()
	var mu sync.Mutex
	var now moment
	var moments []moment
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind.Changes() {
			m := now
			m.op, m.disk = op.String(), crash(mem, op.N)
			moments = append(moments, m)
		}
		return nil
	})
	update := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	n := newNode(t, fsys)
	update(func() { now.isFormatted = true })
	n.tweak = func(o *Options) {
		o.SegmentBytes = 900
		o.Snapshots = SnapshotPolicy{MaxNewBytes: -1, MaxInterval: -1, RetentionBytes: 2500}
	}
	for range 3 {
		s := n.open()
		update(func() { now.epoch = int32(s.Epoch()) })
		for range 4 {
			k := now.asked
			update(func() { now.asked++ })
			mustAppend(t, s, topicRecords(fmt.Sprintf("t%02d", k), byte(k+1), 2)...)
			update(func() { now.acked = now.asked })
		}
		n.snapshot(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return moments
}

// verify opens what a crash left: what was acknowledged is there, what is there was asked for, in order; the
// epoch is new; and life goes on.
func (m moment) verify(t *testing.T, number int) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("crash %d before %s (%d of %d acknowledged): %s", number, m.op, m.acked, m.asked, fmt.Sprintf(format, args...))
	}
	n := &node{t: t, fs: m.disk, dir: testDir, rand: newRand()}
	if _, err := checkpoint.ReadMetaProperties(m.disk, testDir+"/"+checkpoint.MetaPropertiesFile); err != nil {
		if m.isFormatted {
			fail("%v", err)
		}
		return
	}
	s, err := Open(n.options())
	if err != nil {
		fail("%v", err)
		return
	}
	defer s.Close()
	var names []string
	for topic := range s.Image().Topics.All() {
		names = append(names, topic.Name)
		if len(topic.Partitions) != 2 {
			fail("topic %s has %d partitions", topic.Name, len(topic.Partitions))
		}
	}
	slices.Sort(names)
	for k, name := range names {
		if name != fmt.Sprintf("t%02d", k) {
			fail("topics %v", names)
			break
		}
	}
	if len(names) < m.acked || len(names) > m.asked {
		fail("%d topics", len(names))
	}
	if int32(s.Epoch()) <= m.epoch {
		fail("epoch %d, %d was in use", s.Epoch(), m.epoch)
	}
	if s.Image().MetadataVersion() != MaxMetadataVersion {
		fail("metadata.version %d", s.Image().MetadataVersion())
	}
	if _, err := s.Append(topicRecords("after", 99, 1)...); err != nil {
		fail("append: %v", err)
	}
}

func TestCrashLosesAllUnsynced(t *testing.T) {
	moments := tell(t, func(m *vfs.Mem, _ int64) *vfs.Mem { return m.Crash() })
	if len(moments) < 50 {
		t.Fatalf("only %d moments", len(moments))
	}
	for i, m := range moments {
		m.verify(t, i)
	}
	t.Logf("cut before %d operations", len(moments))
}

// What a disk has begun on its own may be on it in any part and order.
func TestCrashKeepsSomeUnsynced(t *testing.T) {
	cuts, seeds := 0, longtest.Pick(uint64(3), 100)
	for seed := range seeds {
		moments := tell(t, func(m *vfs.Mem, n int64) *vfs.Mem { return m.CrashKeeping(seed<<32 + uint64(n)) })
		for i, m := range moments {
			m.verify(t, i)
		}
		cuts += len(moments)
	}
	t.Logf("%d cuts with %d seeds", cuts, seeds)
}

// The first write or fsync that fails ends the Store: nothing that depends on it is acknowledged or visible, and
// the next Open finds all that was.
func TestFailedWriteIsFinal(t *testing.T) {
	broken := errors.New("broken disk")
	for nth := int64(1); ; nth++ {
		mem := vfs.NewMem()
		armed := false
		left := nth
		n := newNode(t, vfs.NewFault(mem, func(op vfs.Op) error {
			if !armed || !op.Kind.Changes() {
				return nil
			}
			if left--; left == 0 {
				return broken
			}
			return nil
		}))
		s := n.open()
		armed = true
		acked, failed := 0, error(nil)
		for k := range 6 {
			if _, err := s.Append(topicRecords(fmt.Sprintf("t%d", k), byte(k+1), 1)...); err != nil {
				failed = err
				break
			}
			acked++
		}
		armed = false
		if failed != nil {
			if !errors.Is(failed, broken) {
				t.Errorf("%d: %v", nth, failed)
			}
			if s.Image().Topics.Len() != acked {
				t.Errorf("%d: %d topics visible, %d acknowledged", nth, s.Image().Topics.Len(), acked)
			}
			if _, err := s.Append(topicRecords("later", 50, 1)...); err == nil {
				t.Errorf("%d: appended after a failed write", nth)
			}
		}
		_ = s.Close() // it may repeat the failure
		if failed == nil {
			t.Logf("%d faults injected", nth-1)
			return
		}
		n.fs = mem
		s = n.open()
		if got := s.Image().Topics.Len(); got < acked || got > acked+1 {
			t.Errorf("%d: %d topics after the restart, %d were acknowledged", nth, got, acked)
		}
		s.Close()
	}
}
