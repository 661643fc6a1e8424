package logdir

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// TestR07Leftovers: -delete directories are purged after a delay, also when a start comes in between; -future ones are
// kept and reported; -stray ones and what is not understood stay.
func TestR07Leftovers(t *testing.T) {
	const u = ".d848adc32a734e7281c8eb9677e78332"
	synctest.Test(t, func(t *testing.T) {
		r := format(t, vfs.NewMem(), 1)
		for _, name := range []string{"gone-0" + u + "-delete", "moving-0" + u + "-future", "lost-0" + u + "-stray", "notes", "backup-2024", "lost+found", "remote-log-index-cache"} {
			put(t, r.fs, "/data0/"+name+"/file", "x")
		}
		put(t, r.fs, "/data0/a-0/partition.metadata", metadataOfA+idA.String())
		put(t, r.fs, "/data0/a-0/00000000000000000005.log.deleted", "x")
		put(t, r.fs, "/data0/a-0/00000000000000000000.log.cleaned", "x")
		put(t, r.fs, "/data0/recovery-point-offset-checkpoint.tmp", "half")
		mustClose(t, r.open()) // a stop before the delay is over
		m := r.open()
		names := list(t, r.fs, "/data0")
		if !slices.Contains(names, "gone-0"+u+"-delete") {
			t.Error("removed at once")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		names = list(t, r.fs, "/data0")
		for _, want := range []string{"moving-0" + u + "-future", "lost-0" + u + "-stray", "notes", "backup-2024", "lost+found", "remote-log-index-cache"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s is gone", want)
			}
		}
		if slices.Contains(names, "gone-0"+u+"-delete") {
			t.Error("the -delete directory is still there")
		}
		if got := list(t, r.fs, "/data0/a-0"); hasSuffix(got, ".deleted") || hasSuffix(got, ".cleaned") {
			t.Errorf("a-0 holds %v", got)
		}
		if len(r.events.of(FutureFound)) != 2 || len(r.events.of(Ignored)) != 4 || len(r.events.of(RemovalResumed)) != 2 {
			t.Errorf("events %v", r.events.list)
		}
		if len(m.Logs()) != 1 {
			t.Errorf("%d logs", len(m.Logs()))
		}
		mustClose(t, m)
	})
}

// TestStrays: what no metadata knows is set aside, by topic id, and comes back under its name only by hand.
func TestStrays(t *testing.T) {
	r := format(t, vfs.NewMem(), 1)
	m := r.open()
	produce(t, r.create(m, tp("a", 0), record.UUID{}), 5, 1)
	produce(t, r.create(m, tp("b", 0), record.UUID{}), 6, 1)
	mustClose(t, m)
	put(t, r.fs, "/data0/noid-0/00000000000000000000.log", "")
	m, err := Open(r.options())
	if err != nil {
		t.Fatal(err)
	}
	err = m.Load(t.Context(), func(p record.TopicPartition, id record.UUID) (storage.Config, bool) {
		if p.Topic == "noid" && !id.IsZero() || p.Topic != "noid" && id != idA {
			t.Errorf("asked for %v with %v", p, id)
		}
		return storage.DefaultConfig(), p.Topic == "a"
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Log(tp("a", 0)) == nil || m.Log(tp("b", 0)) != nil || m.Log(tp("noid", 0)) != nil {
		t.Error("the wrong logs are open")
	}
	strays := r.events.of(StrayFound)
	slices.SortFunc(strays, func(a, b Event) int { return strings.Compare(a.Path, b.Path) })
	if len(strays) != 2 || !strings.HasPrefix(strays[0].Path, "/data0/b-0.") || !strings.HasSuffix(strays[0].Path, "-stray") {
		t.Fatalf("strays %v", strays)
	}
	// A new incarnation starts from nothing: not from the offsets that the checkpoints have for the old one (DIR-3).
	l, _, err := m.Create(tp("b", 0), idB, storage.DefaultConfig(), record.UUID{})
	if err != nil || l.LogEndOffset() != 0 || l.TopicID() != idB {
		t.Fatalf("new incarnation: %v", err)
	}
	if got := get(t, r.fs, "/data0/recovery-point-offset-checkpoint"); strings.Contains(got, "b 0 6") {
		t.Errorf("recovery points %q", got)
	}
	produce(t, l, 2, 1)
	mustClose(t, m)
	if !strings.Contains(strings.Join(list(t, r.fs.(*vfs.Mem).Crash(), "/data0"), " "), "-stray") {
		t.Error("the rename was not durable")
	}
	m = r.open()
	defer mustClose(t, m)
	if l := m.Log(tp("b", 0)); l == nil || l.LogEndOffset() != 2 {
		t.Error("the new incarnation is not whole")
	}
}
