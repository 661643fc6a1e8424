package storage

import (
	"os"
	"path"
	"slices"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/vfs"
)

// TestIdleLogIsNotWritten: a log that nobody appends to is opened after a stop in order, led in a new epoch and closed again
// without changing anything on disk, and with a handful of files opened: ten thousand of them must start quickly.
func TestIdleLogIsNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		records int
		opens   []string
	}{
		"empty":        {0, []string{epoch.File}},
		"with records": {100, []string{epoch.File, ".index", ".log", ".timeindex", ".snapshot"}},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			w := worldOn(t, mem)
			l := w.open()
			if err := l.AssignLeaderEpoch(1); err != nil {
				t.Fatal(err)
			}
			for i := range c.records {
				w.append(l, from{id: 3, seq: record.Sequence(i)}.batch(1), AppendOptions{LeaderEpoch: 1})
			}
			w.close(l)
			before := w.files(l.Dir())

			var opens, changes []string
			w = worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Kind == vfs.OpOpen {
					opens = append(opens, path.Base(op.Path))
				}
				if op.Kind.Changes() || op.Flag&(os.O_CREATE|os.O_TRUNC) != 0 {
					changes = append(changes, op.String())
				}
				return nil
			}))
			for e := record.LeaderEpoch(3); e < 9; e += 2 {
				opens = nil
				l = w.open(clean, func(o *Options) { o.TopicID, o.TopicIDStored = record.UUID{1}, true })
				if err := l.AssignLeaderEpoch(e); err != nil {
					t.Fatal(err)
				}
				if latest, ok := l.LatestEpoch(); !ok || latest != e {
					t.Errorf("latest epoch is %d %v, want %d", latest, ok, e)
				}
				if got := l.LogEndOffset(); got != record.Offset(c.records) {
					t.Errorf("log end is %d", got)
				}
				w.close(l)
				for i := range opens {
					if ext := path.Ext(opens[i]); ext != "" {
						opens[i] = ext
					}
				}
				slices.Sort(opens)
				want := slices.Sorted(slices.Values(c.opens))
				if !slices.Equal(opens, want) {
					t.Errorf("opened %q, want %q", opens, want)
				}
			}
			if len(changes) > 0 {
				t.Errorf("changed: %q", changes)
			}
			after := w.files(l.Dir())
			for f := range before {
				if string(before[f]) != string(after[f]) {
					t.Errorf("%s was %q and is %q", f, before[f], after[f])
				}
			}
		})
	}
}

// TestEpochsAreFoundAgain: an epoch is not written when it is assigned. One that has records is there again after every
// kind of stop, with its start; one without may be forgotten (EPO-3).
func TestEpochsAreFoundAgain(t *testing.T) {
	step := func(w *world, l *Log, e record.LeaderEpoch, records int) {
		w.t.Helper()
		if err := l.AssignLeaderEpoch(e); err != nil {
			w.t.Fatal(err)
		}
		for range records {
			w.append(l, batchOf(startMs, "v"), AppendOptions{LeaderEpoch: e})
		}
	}
	for name, stop := range map[string]func(w *world, mem *vfs.Mem, l *Log) (*Log, *vfs.Mem){
		"killed, nothing flushed": func(w *world, mem *vfs.Mem, l *Log) (*Log, *vfs.Mem) {
			l.Abandon()
			return w.open(), mem
		},
		"killed after a flush": func(w *world, mem *vfs.Mem, l *Log) (*Log, *vfs.Mem) {
			if err := l.Flush(l.LogEndOffset()); err != nil {
				w.t.Fatal(err)
			}
			l.Abandon()
			return w.open(recoverFrom(l.RecoveryPoint())), mem
		},
		"power failure after a flush": func(w *world, mem *vfs.Mem, l *Log) (*Log, *vfs.Mem) {
			if err := l.Flush(l.LogEndOffset()); err != nil {
				w.t.Fatal(err)
			}
			mem = mem.Crash()
			l.Abandon()
			w.fs, w.handles = mem, vfs.NewHandles(mem, 64)
			return w.open(recoverFrom(l.RecoveryPoint())), mem
		},
		"in order": func(w *world, mem *vfs.Mem, l *Log) (*Log, *vfs.Mem) {
			w.close(l)
			return w.open(clean), mem
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := disk(t)
			w := worldOn(t, mem)
			l := w.open()
			step(w, l, 1, 2)
			step(w, l, 2, 0)
			step(w, l, 4, 3)
			l, mem = stop(w, mem, l)
			if got, want := l.LeaderEpochs(), []epoch.Entry{{Epoch: 1, StartOffset: 0}, {Epoch: 4, StartOffset: 2}}; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			step(w, l, 6, 0) // gets no record and need not survive
			l, mem = stop(w, mem, l)
			step(w, l, 8, 1)
			l, _ = stop(w, mem, l)
			defer l.Abandon()
			if got, want := l.LeaderEpochs(), []epoch.Entry{{Epoch: 1, StartOffset: 0}, {Epoch: 4, StartOffset: 2}, {Epoch: 8, StartOffset: 5}}; !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
