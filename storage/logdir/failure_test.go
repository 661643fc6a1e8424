package logdir

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// TestR16DirFailsWhileServing: a failed write takes the directory offline, once. All its logs answer storage errors,
// nothing is created anew elsewhere, the other directory goes on, and the next start finds what was acknowledged.
func TestR16DirFailsWhileServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 2)
		broken := atomic.Bool{}
		writes := atomic.Int64{}
		r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if broken.Load() && strings.HasPrefix(op.Path, "/data1/") && op.Kind.Changes() {
				writes.Add(1)
				if op.Kind == vfs.OpWrite || op.Kind == vfs.OpSync {
					return errTest
				}
			}
			return nil
		})
		told := atomic.Int64{}
		r.change = func(o *Options) {
			periods(o)
			o.OnDirFailure = func(id record.UUID, dir string, err error) {
				if id != dirIDs[1] || dir != "/data1" || !errors.Is(err, errTest) {
					t.Errorf("told of %v %s: %v", id, dir, err)
				}
				told.Add(1)
			}
		}
		m := r.open()
		m.Start()
		good := r.create(m, tp("good", 0), dirIDs[0])
		hit, idle := r.create(m, tp("hit", 0), dirIDs[1]), r.create(m, tp("idle", 0), dirIDs[1])
		for _, l := range []*storage.Log{good, hit, idle} {
			produce(t, l, 5, 1)
		}
		if err := errors.Join(hit.Flush(5), idle.Flush(5)); err != nil {
			t.Fatal(err)
		}
		broken.Store(true)
		batch := func() []byte { // an append patches it
			b := record.NewBuilder(record.DefaultBuilderOptions())
			b.Append(1, nil, []byte("x"), nil)
			return b.Build()
		}
		if _, err := hit.Append(batch(), storage.AppendOptions{}); !isStorage(err) {
			t.Fatalf("append: %v", err)
		}
		synctest.Wait()
		writes.Store(0)
		for _, l := range []*storage.Log{hit, idle} {
			_, appendErr := l.Append(batch(), storage.AppendOptions{})
			_, readErr := l.Read(0, storage.LogEnd, 1000, true)
			_, endErr := l.Read(l.LogEndOffset(), storage.LogEnd, 1000, true)
			if !isStorage(appendErr) || !isStorage(readErr) || !isStorage(endErr) {
				t.Errorf("%v: append %v; read %v; read at the end %v", l.TopicPartition(), appendErr, readErr, endErr)
			}
			for _, id := range []record.UUID{{}, dirIDs[0], dirIDs[1]} {
				if _, _, err := m.Create(l.TopicPartition(), idA, storage.DefaultConfig(), id); !errors.Is(err, ErrOffline) {
					t.Errorf("create %v anew: %v", l.TopicPartition(), err)
				}
			}
			if err := m.Delete(l.TopicPartition()); !errors.Is(err, ErrOffline) {
				t.Errorf("delete %v: %v", l.TopicPartition(), err)
			}
		}
		produce(t, good, 5, 1)
		if infos := m.Dirs(); infos[0].Err != nil || !errors.Is(infos[1].Err, errTest) || len(infos[1].Logs) != 0 || len(m.Logs()) != 1 {
			t.Errorf("directories %+v", infos)
		}
		if told.Load() != 1 || len(r.events.of(DirFailed)) != 1 {
			t.Errorf("told %d times, events %v", told.Load(), r.events.of(DirFailed))
		}
		if lock, err := mem.Lock("/data1/.lock"); err != nil {
			t.Errorf("the failed directory is still locked: %v", err)
		} else if err := errors.Join(lock.Close(), mem.Remove("/data1/.lock")); err != nil {
			t.Fatal(err)
		}
		mustClose(t, m)
		if n := writes.Load(); n > 1 { // the removal of the lock
			t.Errorf("%d changes were made in the failed directory", n)
		}
		if get(t, mem, "/data1/.kafka_cleanshutdown") != "missing" || get(t, mem, "/data0/.kafka_cleanshutdown") == "missing" {
			t.Error("markers are wrong")
		}
		r.fs = mem.Crash()
		again := r.open()
		defer mustClose(t, again)
		if l := again.Log(tp("good", 0)); l == nil || l.LogEndOffset() != 10 {
			t.Error("good is not whole")
		}
		for _, topic := range []string{"hit", "idle"} {
			if l := again.Log(tp(topic, 0)); l == nil || l.LogEndOffset() != 5 {
				t.Errorf("%s is not whole", topic)
			}
		}
	})
}

// TestCheckpointFailure: a checkpoint that cannot be written takes the directory offline.
func TestCheckpointFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 1)
		broken := atomic.Bool{}
		r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			if broken.Load() && strings.HasSuffix(op.Path, "replication-offset-checkpoint.tmp") {
				return errTest
			}
			return nil
		})
		r.change = periods
		m := r.open()
		m.Start()
		produce(t, r.create(m, tp("a", 0), record.UUID{}), 5, 1)
		broken.Store(true)
		waitFor(10)
		synctest.Wait()
		if s := status(t, m, "high watermark checkpoint"); s.Failures != 1 && s.LastError == nil || !errors.Is(m.Dirs()[0].Err, errTest) {
			t.Errorf("status %+v, directory %v", s, m.Dirs()[0].Err)
		}
		mustClose(t, m)
	})
}
