package repair

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// full is a directory on a disk that it fills to the last byte, with an older topic, a compacted one, a partition that is being
// deleted and files that were, and a place aside.
func full(t *testing.T) *vfs.Mem {
	t.Helper()
	fsys := whole(t)
	for _, path := range []string{"00000000000000000000.log", "00000000000000000200.log", "00000000000000000400.log", "00000000000000000000.index", "partition.metadata"} {
		testdir.Put(t, fsys, "/data/compact-0/"+path, testdir.Get(t, fsys, "/data/made-0/"+path))
		testdir.Put(t, fsys, "/data/unknown-0/"+path, testdir.Get(t, fsys, "/data/made-0/"+path))
		testdir.Put(t, fsys, "/data/gone-0.0123456789abcdef0123456789abcdef-delete/"+path, testdir.Get(t, fsys, "/data/made-0/"+path))
	}
	testdir.Put(t, fsys, "/data/made-0/00000000000000000000.log.deleted", make([]byte, 5000))
	testdir.Put(t, fsys, "/data/made-0/00000000000000000200.snapshot", testdir.Get(t, fsys, "/data/__transaction_state-0/00000000000000000244.snapshot"))
	testdir.Put(t, fsys, "/data/replication-offset-checkpoint", []byte("0\n1\nmade 0 400\n"))
	testdir.Put(t, fsys, "/aside/readme", nil)
	return fsys
}

// room is a full disk with bytes to be made usable.
func room(t *testing.T, mem *vfs.Mem, bytes int64) func(vfs.FS) Options {
	m := cluster(t, mem)
	m.Topics = append(m.Topics, Topic{Name: "compact", ID: record.UUID{5}, Compacted: true, Partitions: m.Topics[0].Partitions})
	capacity := testdir.NewDisk(mem, "/data", 0).Used()
	return func(fsys vfs.FS) Options {
		o := options(testdir.NewDisk(fsys, "/data", capacity))
		o.Metadata = func() (*Metadata, error) { return m, nil }
		o.Free = &Free{Bytes: bytes, Aside: "/aside"}
		return o
	}
}

func removed(before, after map[string]string) (all []string) {
	for path := range before {
		if _, ok := after[path]; !ok {
			all = append(all, strings.TrimPrefix(path, "/data/"))
		}
	}
	slices.Sort(all)
	return all
}

// T-13: on a disk without a byte left room is made: what a broker would remove anyhow first, then the oldest sealed segments
// below the high watermark, but none of compacted, internal or unknown topics; undo brings every byte back.
func TestT13FreesFullDisk(t *testing.T) {
	const gone = "gone-0.0123456789abcdef0123456789abcdef-delete/00000000000000000000.index gone-0.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log " +
		"gone-0.0123456789abcdef0123456789abcdef-delete/00000000000000000200.log gone-0.0123456789abcdef0123456789abcdef-delete/00000000000000000400.log " +
		"gone-0.0123456789abcdef0123456789abcdef-delete/partition.metadata"
	const left, zero, two = "made-0/00000000000000000000.log.deleted", "made-0/00000000000000000000.index made-0/00000000000000000000.log", "made-0/00000000000000000200.log made-0/00000000000000000200.snapshot"
	base := full(t)
	size := int64(len(testdir.Get(t, base, "/data/made-0/"+name(0)+".log")))
	for _, c := range []struct {
		bytes int64
		want  string
		short bool
	}{
		{1000, gone, false},
		{3*size + 2000, gone + " " + left, false},
		{3*size + 10000, gone + " " + zero + " " + left + " made-0/00000000000000000000.timeindex", false},
		{6 * size, gone + " " + zero + " " + left + " made-0/00000000000000000000.timeindex made-0/00000000000000000200.index " + two + " made-0/00000000000000000200.timeindex", true},
	} {
		mem := base.Crash()
		o := room(t, mem, c.bytes)
		before := testdir.Tree(t, mem, "/data")
		result, err := Run(context.Background(), o(mem), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(c.want)
		slices.Sort(want)
		if got := removed(before, testdir.Tree(t, mem, "/data")); !slices.Equal(got, want) {
			t.Errorf("%d bytes: went\n%v, want\n%v", c.bytes, got, want)
		}
		if _, usable, _ := o(mem).FS.Usage("/data"); int64(usable) < c.bytes != c.short || (result.Plan.Short > 0) != c.short {
			t.Errorf("%d bytes: %d are usable, short of %d", c.bytes, usable, result.Plan.Short)
		}
		if filepath.Dir(result.Journal) != "/aside" {
			t.Errorf("journal %s", result.Journal)
		}
		if all := findings(t, mem, "/data/made-0"); len(all) != 0 {
			t.Errorf("%d bytes: %v", c.bytes, all)
		}
		if _, err := Undo(context.Background(), o(mem).FS, result.Journal); err != nil {
			t.Fatal(err)
		}
		testdir.Same(t, testdir.Tree(t, mem, "/data"), before)
		if left := testdir.Tree(t, mem, "/aside"); len(left) != 1 {
			t.Errorf("left aside: %v", left)
		}
	}
}

// T-13: an index that was preallocated for a segment to come is mostly a hole, and taking it away makes no room.
func TestT13PreallocatedIndexesMakeNoRoom(t *testing.T) {
	mem := full(t)
	const gone = "/data/gone-1.0123456789abcdef0123456789abcdef-delete/"
	testdir.Put(t, mem, gone+name(0)+".log", nil)
	testdir.Put(t, mem, gone+name(0)+".index", make([]byte, 10<<20))
	size := int64(len(testdir.Get(t, mem, "/data/made-0/"+name(0)+".log")))
	plan, err := MakePlan(context.Background(), room(t, mem, 3*size+10000)(mem))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(plan.Actions, func(a Action) bool { return a.Path == "/data/made-0/"+name(0)+".log" }) {
		t.Errorf("no segment is taken: %v", plan.Actions)
	}
}

func TestFreeCutAnywhere(t *testing.T) {
	mem := full(t)
	o := room(t, mem, 60000)
	cut{t: t, options: o, step: longtest.Pick(int64(211), int64(3)), healthy: func(fsys vfs.FS) {
		if _, usable, _ := o(fsys).FS.Usage("/data"); usable < 60000 {
			t.Errorf("%d bytes are usable", usable)
		}
	}}.anywhere(mem)
}

func TestFreeRefuses(t *testing.T) {
	mem := full(t)
	for name, c := range map[string]struct {
		change func(o *Options)
		want   error
	}{
		"the same disk": {func(o *Options) { o.Free.Aside = "/data" }, ErrSameDisk},
		"no room aside": {func(o *Options) { o.FS = &smallAside{o.FS} }, ErrNoRoomAside},
		"a repair that was begun": {func(o *Options) {
			testdir.Put(t, mem, "/data/.samsa-repair-20260101T000000-000000000.journal", []byte("{\"op\":\"begin\"}\n"))
		}, ErrBegun},
	} {
		o := room(t, mem, 50000)(mem)
		c.change(&o)
		before := testdir.Tree(t, mem, "/data")
		if _, err := Run(context.Background(), o, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		testdir.Same(t, testdir.Tree(t, mem, "/data"), before)
		if err := mem.Remove("/data/.samsa-repair-20260101T000000-000000000.journal"); err != nil && name == "a repair that was begun" {
			t.Error(err)
		}
	}
}

// smallAside is a disk aside with little room.
type smallAside struct{ vfs.FS }

func (s *smallAside) Usage(path string) (total, usable uint64, err error) {
	if path == "/aside" {
		return 1 << 20, 100, nil
	}
	return s.FS.Usage(path)
}

// Without a metadata log nobody knows which topics are compacted, so no segment goes; nor does anything that compaction has
// not finished swapping in.
func TestFreeKeepsWhatNobodyKnows(t *testing.T) {
	mem := full(t)
	testdir.Put(t, mem, "/data/trimmed-0/00000000000000000000.log.swap", make([]byte, 10))
	testdir.Put(t, mem, "/data/trimmed-0/00000000000000000000.log.deleted", make([]byte, 10))
	o := room(t, mem, 1<<40)(mem)
	o.Metadata = nil
	plan, err := MakePlan(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range plan.Actions {
		if !strings.Contains(a.Path, "-delete/") && !strings.HasSuffix(a.Path, "made-0/00000000000000000000.log.deleted") {
			t.Errorf("planned: %v", a)
		}
	}
}
