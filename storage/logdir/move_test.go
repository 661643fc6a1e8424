package logdir

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// small has several segments after a few records.
func small() storage.Config {
	c := storage.DefaultConfig()
	c.SegmentBytes = 1000
	return c
}

// movable opens two directories with a log of n records in the first.
func movable(t testing.TB, fsys vfs.FS, n int, change func(*Options)) (*rig, *Manager, *storage.Log) {
	t.Helper()
	r := format(t, fsys, 2)
	r.change = change
	m := r.open()
	l, _, err := m.Create(tp("a", 0), idA, small(), dirIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	produce(t, l, n, 1)
	return r, m, l
}

// batchesOf reads a log from its start and returns the offset of each batch.
func batchesOf(t testing.TB, l *storage.Log) []record.Offset {
	t.Helper()
	var got []record.Offset
	for next := l.LogStartOffset(); next < l.LogEndOffset(); {
		info, err := l.Read(next, storage.LogEnd, 1<<20, true)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, info.Region.Length)
		if _, err := info.Region.File.ReadAt(b, info.Region.Offset); err != nil {
			t.Fatal(err)
		}
		info.Region.Release()
		sc := record.NewScanner(b)
		for sc.Next() {
			if err := sc.Batch().CheckCRC(); err != nil {
				t.Fatal(err)
			}
			h := sc.Batch().Header()
			got = append(got, h.BaseOffset)
			next = h.NextOffset()
		}
		if len(b) == 0 {
			t.Fatalf("nothing at %d, the log ends at %d", next, l.LogEndOffset())
		}
	}
	return got
}

func wantOffsets(t testing.TB, l *storage.Log, from, to record.Offset) {
	t.Helper()
	got := batchesOf(t, l)
	if len(got) != int(to-from) || len(got) > 0 && got[0] != from {
		t.Errorf("%s: %v, want %d to %d", l.Dir(), got, from, to)
	}
}

// TestMove moves a log while a producer writes to it: nothing is lost or doubled, the producer is refused for a moment at
// most, the old directory is removed.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moved := make(chan record.TopicPartition, 1)
		r, m, old := movable(t, vfs.NewMem(), 50, func(o *Options) {
			o.OnMoved = func(tp record.TopicPartition) { moved <- tp }
			o.MoveBytesPerSecond = func() int64 { return 4000 }
		})
		if err := old.DeleteRecords(7); err != nil {
			t.Fatal(err)
		}
		if err := m.Move(tp("a", 0), "/data1"); err != nil {
			t.Fatal(err)
		}
		if err := m.Move(tp("a", 0), "/data1"); err != nil {
			t.Error("asked again:", err)
		}
		wrote := 0
		for len(moved) == 0 {
			b := record.NewBuilder(record.DefaultBuilderOptions())
			b.Append(1, nil, []byte("meanwhile"), nil)
			_, err := m.Log(tp("a", 0)).Append(b.Build(), storage.AppendOptions{})
			if err == nil {
				wrote++
				m.Log(tp("a", 0)).SetHighWatermark(1 << 40)
			} else if !errors.Is(err, storage.ErrClosed) {
				t.Fatal(err)
			}
			if d := m.Dirs()[1]; len(moved) == 0 && (len(d.Futures) != 1 || len(d.Logs) != 0) {
				if l := m.Log(tp("a", 0)); l == old {
					t.Fatalf("while moving: %+v, %v", d, r.events.list)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		l := m.Log(tp("a", 0))
		if l == old || l.Dir() != "/data1/a-0" || m.Dirs()[0].Logs != nil || m.Dirs()[1].Futures != nil || l.TopicID() != idA {
			t.Errorf("%s, %+v", l.Dir(), m.Dirs())
		}
		if wrote < 5 {
			t.Errorf("%d records were written meanwhile", wrote)
		}
		if l.LogStartOffset() != 7 || l.HighWatermark() != l.LogEndOffset() {
			t.Errorf("%+v", l.Offsets())
		}
		wantOffsets(t, l, 7, record.Offset(50+wrote))
		wantOffsets(t, old, 7, record.Offset(50+wrote)) // who reads from it goes on
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if names := list(t, r.fs, "/data0"); strings.Contains(strings.Join(names, " "), "a-0") {
			t.Errorf("left: %v", names)
		}
		mustClose(t, m)
		m = r.open()
		wantOffsets(t, m.Log(tp("a", 0)), 7, record.Offset(50+wrote))
		mustClose(t, m)
	})
}

// TestMoveRefused asks for what cannot be.
func TestMoveRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m, l := movable(t, vfs.NewMem(), 5, func(o *Options) { o.MoveBytesPerSecond = func() int64 { return 10 } })
		long := record.TopicPartition{Topic: strings.Repeat("x", 245)}
		r.create(m, long, dirIDs[0])
		for _, c := range []struct {
			tp   record.TopicPartition
			dir  string
			want error
		}{
			{tp("a", 0), "/data0", nil},
			{tp("a", 0), "data1", ErrNoSuchDirectory},
			{tp("a", 0), "/nowhere", ErrNoSuchDirectory},
			{tp("b", 0), "/data1", ErrNotFound},
			{long, "/data1", ErrNameTooLong},
		} {
			if err := m.Move(c.tp, c.dir); !errors.Is(err, c.want) {
				t.Errorf("%.10v to %s: %v, want %v", c.tp, c.dir, err, c.want)
			}
		}
		// To be moved and then not to be moved.
		if err := m.Move(tp("a", 0), "/data1"); err != nil {
			t.Fatal(err)
		}
		if err := m.Move(tp("a", 0), "/data0"); err != nil {
			t.Fatal(err)
		}
		if d := m.Dirs()[1]; d.Futures != nil {
			t.Errorf("%+v", d)
		}
		// Deleted while it is moved.
		if err := m.Move(tp("a", 0), "/data1"); err != nil {
			t.Fatal(err)
		}
		if err := m.Delete(tp("a", 0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if names := list(t, r.fs, "/data1"); strings.Contains(strings.Join(names, " "), "a-0") {
			t.Errorf("left: %v", names)
		}
		if _, err := l.Append(nil, storage.AppendOptions{}); err == nil {
			t.Error("the deleted log takes appends")
		}
		mustClose(t, m)
		if err := m.Move(tp("a", 0), "/data1"); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// TestR07MoveResumed: a stop, in order or not, while a log is being moved; the next start goes on with it.
func TestR07MoveResumed(t *testing.T) {
	for _, stop := range []string{"in order", "power failure"} {
		t.Run(stop, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := vfs.NewMem()
				rate := int64(1000)
				r, m, l := movable(t, mem, 50, func(o *Options) { o.MoveBytesPerSecond = func() int64 { return rate } })
				if err := l.Flush(l.LogEndOffset()); err != nil {
					t.Fatal(err)
				}
				if err := m.Move(tp("a", 0), "/data1"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
				crashed := mem.Crash()
				mustClose(t, m)
				if stop == "power failure" {
					r.fs = crashed
				}
				rate = 0
				m = r.open()
				if n := len(r.events.of(MoveResumed)); n != 1 {
					t.Errorf("%d moves resumed: %v", n, r.events.list)
				}
				if l := m.Log(tp("a", 0)); l.Dir() != "/data0/a-0" {
					t.Errorf("%s before Start", l.Dir())
				}
				m.Start()
				synctest.Wait()
				if l := m.Log(tp("a", 0)); l.Dir() != "/data1/a-0" {
					t.Errorf("%s after Start", l.Dir())
				}
				wantOffsets(t, m.Log(tp("a", 0)), 0, 50)
				mustClose(t, m)
			})
		})
	}
}

// TestMoveCrashes cuts the power before every operation of a move and opens what is left: the log is there as a whole, in one
// place, and the second start finds it as the first did.
func TestMoveCrashes(t *testing.T) {
	var mu sync.Mutex
	var images []*vfs.Mem
	armed := false
	mem := vfs.NewMem()
	cut := vfs.NewFault(mem, func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if armed && op.Kind.Changes() {
			images = append(images, mem.Crash())
		}
		return nil
	})
	moved := make(chan struct{})
	_, m, l := movable(t, cut, 30, func(o *Options) { o.OnMoved = func(record.TopicPartition) { close(moved) } })
	if err := l.Flush(l.LogEndOffset()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	armed = true
	mu.Unlock()
	if err := m.Move(tp("a", 0), "/data1"); err != nil {
		t.Fatal(err)
	}
	<-moved
	mu.Lock()
	armed = false
	mu.Unlock()
	mustClose(t, m)
	there := map[string]int{}
	for i, image := range images {
		again := make(chan struct{})
		r := &rig{t: t, fs: image, dirs: []string{"/data0", "/data1"}, events: &events{}, change: func(o *Options) {
			o.OnMoved = func(record.TopicPartition) { close(again) }
		}}
		m := r.open()
		l := m.Log(tp("a", 0))
		if l == nil {
			t.Fatalf("image %d: no log; %v", i, r.events.list)
		}
		wantOffsets(t, l, 0, 30)
		there[l.Dir()]++
		if len(m.Logs()) != 1 || len(r.events.of(PartitionFailed)) > 0 {
			t.Errorf("image %d: %v", i, r.events.list)
		}
		if len(r.events.of(MoveResumed)) > 0 {
			m.Start()
			<-again
			if l := m.Log(tp("a", 0)); l.Dir() != "/data1/a-0" {
				t.Errorf("image %d: %s after the move went on", i, l.Dir())
			}
		}
		wantOffsets(t, m.Log(tp("a", 0)), 0, 30)
		mustClose(t, m)
	}
	if there["/data0/a-0"] == 0 || there["/data1/a-0"] == 0 {
		t.Errorf("%d images: %v", len(images), there)
	}
	t.Logf("%d images of cuts: %v", len(images), there)
}

// TestMoveFaults fails every operation of a move in the new directory: the log stays where it was, whole, and takes appends.
func TestMoveFaults(t *testing.T) {
	injected := 0
	for n := 0; ; n++ {
		var mu sync.Mutex
		count, fired := -1, false
		fsys := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if count < 0 || !op.Kind.Changes() || !strings.Contains(op.Path, "/data1/a-0.") {
				return nil
			}
			if count++; count == n+1 {
				fired = true
				return &fs.PathError{Op: "write", Path: op.Path, Err: errTest}
			}
			return nil
		})
		done := make(chan struct{})
		var once sync.Once
		r, m, l := movable(t, fsys, 20, func(o *Options) {
			o.OnMoved = func(record.TopicPartition) { once.Do(func() { close(done) }) }
			observe := o.Observe
			o.Observe = func(e Event) {
				observe(e)
				if e.Kind == TaskFailed || e.Kind == DirFailed {
					once.Do(func() { close(done) })
				}
			}
		})
		mu.Lock()
		count = 0
		mu.Unlock()
		if err := m.Move(tp("a", 0), "/data1"); err == nil {
			<-done
		}
		mu.Lock()
		count = -1
		stop := !fired
		mu.Unlock()
		if stop {
			mustClose(t, m)
			break
		}
		injected++
		if at := m.Log(tp("a", 0)); at == l {
			produce(t, l, 1, 1)
			wantOffsets(t, l, 0, 21)
		} else if at != nil && m.Dirs()[1].Err == nil {
			t.Errorf("fault %d: the log lies in %s", n, at.Dir())
		}
		_ = m.Close() // a directory has failed
		m = r.open()
		if l := m.Log(tp("a", 0)); l == nil || l.LogEndOffset() < 20 {
			t.Errorf("fault %d: after a restart %v; %v", n, l, r.events.list)
		}
		mustClose(t, m)
	}
	if injected < 10 {
		t.Errorf("%d faults", injected)
	}
	t.Logf("%d faults injected", injected)
}
