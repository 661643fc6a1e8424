package logdir

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// waitFor lets fake time pass.
func waitFor(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) }

// promise is what a caller may rely on for one partition: the topic id of Create, and what was flushed.
type promise struct {
	id      record.UUID
	flushed record.Offset
	// start is the log start that a checkpoint made durable.
	start record.Offset
	// Neither: a creation or deletion was under way.
	absent, present bool
}

// TestCrash runs random creations, deletions, appends, flushes and checkpoints, cuts the power at a random operation
// or at a stop, and looks whether everything that was promised until then is there after the next start.
func TestCrash(t *testing.T) {
	cuts, stops := 0, 0
	defer func() { t.Logf("%d cuts at an operation, %d at a stop", cuts, stops) }()
	longtest.Check(t, 60, 3000, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		mem := vfs.NewMem()
		cutAt := int64(1 + random.IntN(600))
		var power sync.Mutex
		var crashed *vfs.Mem // nil while the power is on
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			power.Lock()
			defer power.Unlock()
			if op.N >= cutAt && crashed == nil {
				crashed = mem.CrashKeeping(seed)
			}
			if crashed != nil {
				return errTest
			}
			return nil
		})
		cut := func() bool {
			power.Lock()
			defer power.Unlock()
			return crashed != nil
		}
		dirs := []string{"/data0", "/data1"}
		for i, d := range dirs {
			if err := Format(mem, d, metaOf(dirIDs[i])); err != nil {
				t.Fatal(err)
			}
		}
		promises := map[record.TopicPartition]*promise{}
		crashRun(fsys, dirs, random, promises, cut)
		if cut() {
			cuts++
		} else {
			stops++
			crashed = mem.CrashKeeping(seed)
		}
		m, err := Open(Options{FS: crashed, Dirs: dirs})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Load(t.Context(), wantAll); err != nil {
			t.Fatal(err)
		}
		for p, promised := range promises {
			l := m.Log(p)
			if l == nil {
				if promised.present {
					t.Fatalf("%v is gone", p)
				}
				continue
			}
			if promised.absent {
				t.Fatalf("%v is back", p)
			}
			if !promised.present {
				continue
			}
			if l.TopicID() != promised.id || l.LogEndOffset() < promised.flushed || l.LogStartOffset() < promised.start {
				t.Fatalf("%v: id %v, offsets %+v; promised %+v", p, l.TopicID(), l.Offsets(), *promised)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// crashRun works until the cut or for a hundred steps and keeps the promises up to date.
func crashRun(fsys vfs.FS, dirs []string, random *rand.Rand, promises map[record.TopicPartition]*promise, cut func() bool) {
	m, err := Open(Options{FS: fsys, Dirs: dirs, RecoveryThreads: 1})
	if err != nil {
		return
	}
	defer func() { _ = m.Close() }()
	if m.Load(context.Background(), wantAll) != nil {
		return
	}
	config := storage.DefaultConfig()
	config.SegmentBytes = 1000
	generation := byte(0)
	for range 100 {
		p := tp("t", int32(random.IntN(3)))
		now := promises[p]
		if now == nil {
			now = &promise{absent: true}
			promises[p] = now
		}
		l := m.Log(p)
		switch op := random.IntN(10); {
		case l == nil:
			generation++
			*now = promise{id: record.UUID{0: generation, 15: 200}}
			if _, _, err := m.Create(p, now.id, config, record.UUID{}); err == nil && !cut() {
				now.present = true
			}
		case op < 5:
			b := record.NewBuilder(record.DefaultBuilderOptions())
			b.Append(1, nil, make([]byte, 50+random.IntN(200)), nil)
			if _, err := l.Append(b.Build(), storage.AppendOptions{}); err == nil {
				l.SetHighWatermark(l.LogEndOffset())
			}
		case op < 7:
			end := l.LogEndOffset()
			if l.Flush(end) == nil && !cut() {
				now.flushed = end
			}
		case op == 7:
			_ = l.DeleteRecords(record.Offset(random.Int64N(int64(l.HighWatermark()) + 1)))
		case op == 8:
			starts := map[record.TopicPartition]record.Offset{}
			for _, l := range m.Logs() {
				starts[l.TopicPartition()] = l.LogStartOffset()
			}
			if errors.Join(m.saveEverywhere(recoveryPoints)...) == nil && errors.Join(m.saveEverywhere(logStarts)...) == nil && !cut() {
				for p, s := range starts {
					promises[p].start = s
				}
			}
		default:
			*now = promise{}
			if m.Delete(p) == nil && !cut() {
				now.absent = true
			}
		}
		if cut() {
			return
		}
	}
}
