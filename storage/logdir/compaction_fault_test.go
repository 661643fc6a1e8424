package logdir

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// offsetsOf reads a log and returns the offsets of its records.
func offsetsOf(t *testing.T, l *storage.Log) []record.Offset {
	t.Helper()
	var all []record.Offset
	for at := l.LogStartOffset(); at < l.LogEndOffset(); {
		info, err := l.Read(at, storage.LogEnd, 1<<20, true)
		if err != nil || info.Region.Length == 0 {
			t.Fatalf("read at %d: %+v, %v", at, info, err)
		}
		b := make([]byte, info.Region.Length)
		if err := info.Region.ReadInto(b); err != nil {
			t.Fatal(err)
		}
		info.Region.Release()
		for sc := record.NewScanner(b); sc.Next(); {
			rs := sc.Batch().Records(0)
			for rs.Next() {
				r := rs.Record()
				all = append(all, r.Offset)
			}
			if rs.Err() != nil || sc.Batch().CheckCRC() != nil {
				t.Fatal(rs.Err())
			}
			at = sc.Batch().LastOffset() + 1
		}
	}
	return all
}

// compactionRun compacts a log of ten keys, ten times each, whose last values are at 90 … 99, in a directory, with its
// checkpoint. inject is asked from when compaction begins.
func compactionRun(t *testing.T, mem *vfs.Mem, inject func(vfs.Op) error) {
	t.Helper()
	var mu sync.Mutex
	armed := false
	r := format(t, vfs.NewFault(mem, func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if armed && op.Kind.Changes() {
			return inject(op)
		}
		return nil
	}), 1)
	r.change = compacting
	m := r.open()
	l, _, err := m.Create(tp("a", 0), idA, compacted(), dirIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	putKeys(t, l, 10, 10)
	if err := l.Flush(100); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	mu.Lock()
	armed = true
	mu.Unlock()
	m.Start()
	time.Sleep(20 * time.Second)
	synctest.Wait()
	mu.Lock()
	armed = false
	mu.Unlock()
	_ = m.Close() // what was injected may be its result
}

// finds opens what is left, with nothing wrong any more: the last values are there, the checkpoint is not ahead of what was
// compacted, and compaction comes to its end.
func finds(t *testing.T, at string, mem *vfs.Mem) {
	t.Helper()
	want := []record.Offset{90, 91, 92, 93, 94, 95, 96, 97, 98, 99}
	r := &rig{t: t, fs: mem, dirs: []string{"/data0"}, events: &events{}, change: compacting}
	saved := cleanerCheckpoint(t, mem, 0)
	m, err := Open(r.options())
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if err := m.Load(t.Context(), func(record.TopicPartition, record.UUID) (storage.Config, bool) { return compacted(), true }); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	l := m.Log(tp("a", 0))
	if l == nil || l.LogEndOffset() != 100 {
		t.Fatalf("%s: the log is %v", at, l)
	}
	got := offsetsOf(t, l)
	if len(got) < 10 || !slices.Equal(got[len(got)-10:], want) {
		t.Fatalf("%s: %v", at, got)
	}
	if saved[tp("a", 0)] == 100 && len(got) != 10 {
		t.Fatalf("%s: the checkpoint says all is compacted, there are %d records", at, len(got))
	}
	l.SetHighWatermark(100)
	m.Start()
	time.Sleep(time.Minute)
	synctest.Wait()
	if got := offsetsOf(t, l); !slices.Equal(got, want) {
		t.Fatalf("%s: compacted: %v", at, got)
	}
	if saved := cleanerCheckpoint(t, mem, 0); saved[tp("a", 0)] != 100 {
		t.Fatalf("%s: the checkpoint says %v", at, saved)
	}
	mustClose(t, m)
}

// TestCompactionFaults lets every operation of compaction in a directory fail that changes the disk, those of the cleaner
// checkpoint too, one after the other.
func TestCompactionFaults(t *testing.T) {
	ofCheckpoint, all := 0, 0
	for n := int64(1); ; n++ {
		what := ""
		synctest.Test(t, func(t *testing.T) {
			mem := vfs.NewMem()
			fail := vfs.FailNth(n, func(vfs.Op) bool { return true }, errTest)
			compactionRun(t, mem, func(op vfs.Op) error {
				err := fail(op)
				if err != nil {
					what = op.String()
				}
				return err
			})
			finds(t, "after a fault at "+what, mem)
		})
		if what == "" {
			break
		}
		all++
		if strings.Contains(what, checkpoint.CleanerOffsetsFile) {
			ofCheckpoint++
		}
	}
	if all < 20 || ofCheckpoint < 3 {
		t.Errorf("%d faults, %d of them of the checkpoint", all, ofCheckpoint)
	}
	t.Logf("%d faults injected, %d of them of the cleaner checkpoint", all, ofCheckpoint)
}

// TestCompactionCrashes cuts the power before each of them.
func TestCompactionCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		type cut struct {
			op    string
			image *vfs.Mem
		}
		var cuts []cut
		compactionRun(t, mem, func(op vfs.Op) error {
			cuts = append(cuts, cut{op.String(), mem.Crash()})
			for seed := range longtest.Pick(uint64(1), 50) {
				cuts = append(cuts, cut{op.String(), mem.CrashKeeping(seed<<32 + uint64(len(cuts)))})
			}
			return nil
		})
		for _, c := range cuts {
			finds(t, "cut before "+c.op, c.image)
		}
		if len(cuts) < 40 {
			t.Errorf("only %d cuts", len(cuts))
		}
		t.Logf("%d images of cuts", len(cuts))
	})
}
