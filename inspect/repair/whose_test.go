package repair

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

const metaPath = "/data/meta.properties"

// household is the directory of whole, "/other", another one of the same node with one partition, and what the metadata log
// says of both.
type household struct {
	fs   *vfs.Mem
	meta checkpoint.MetaProperties
	m    *Metadata
	o    Options
}

func newHousehold(t testing.TB) *household {
	t.Helper()
	h := &household{fs: whole(t)}
	h.m = cluster(t, h.fs)
	var err error
	if h.meta, err = checkpoint.ReadMetaProperties(h.fs, metaPath); err != nil {
		t.Fatal(err)
	}
	h.m.Brokers = map[int32][]record.UUID{h.meta.NodeID: {h.meta.DirectoryID, {9}}, 7: {{7, 7}}, 8: {{9, 9}}}
	h.m.Voters = map[int32]record.UUID{7: {7, 7}}
	other := h.meta
	other.DirectoryID = record.UUID{9}
	testdir.Put(t, h.fs, "/other/meta.properties", other.Text(options(h.fs).Now()))
	h.o = options(h.fs)
	h.o.Others = []string{"/other"}
	h.o.Metadata = func() (*Metadata, error) { return h.m, nil }
	return h
}

// alone: there is one node, with one directory.
func (h *household) alone() {
	h.o.Others = nil
	h.m.Brokers = map[int32][]record.UUID{h.meta.NodeID: {h.meta.DirectoryID}}
	h.m.Voters = map[int32]record.UUID{h.meta.NodeID: h.meta.DirectoryID}
}

func (h *household) damage(t testing.TB, edit func(s string) string) {
	t.Helper()
	testdir.Edit(t, h.fs, metaPath, func(b []byte) []byte { return []byte(edit(string(b))) })
}

// empty leaves nothing of the partitions that the metadata log knows.
func (h *household) empty(t testing.TB) {
	t.Helper()
	for _, name := range []string{"made-0", "trimmed-0", "trimmed-1", "trimmed-2", "txn-0"} {
		remove(t, h.fs, "/data/"+name)
	}
}

func lost(t *testing.T, h *household) { remove(t, h.fs, metaPath) }

// A meta.properties that is lost or damaged is as it was before, wherever something tells each of its lines; undo brings the
// damage back.
func TestWhoseDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, h *household)
		why    string
	}{
		"lost, of several": {lost, "as /other says"},
		"empty":            {func(t *testing.T, h *household) { h.damage(t, func(string) string { return "" }) }, "where the metadata log has 5 of its partitions"},
		"zeros": {func(t *testing.T, h *household) {
			h.damage(t, func(s string) string { return strings.Repeat("\x00", len(s)) })
		}, "as /other says"},
		"another version": {func(t *testing.T, h *household) {
			h.damage(t, func(s string) string { return strings.Replace(s, "version=1", "version=9", 1) })
		}, "what is left"},
		"no partitions": {func(t *testing.T, h *household) { h.empty(t); lost(t, h) }, "the only registered one that no other directory has"},
		"the only one":  {func(t *testing.T, h *household) { h.alone(); h.o.ClusterID = h.meta.ClusterID; lost(t, h) }, "as given"},
		"the only one, cut": {func(t *testing.T, h *household) {
			h.alone()
			h.damage(t, func(s string) string { return cutLine(s, "node.id") })
		}, "the only one in the metadata log"},
		"not registered yet": {func(t *testing.T, h *household) {
			h.m.Brokers, h.m.Voters = nil, nil
			lost(t, h)
		}, "partitions"},
		"where it votes": {func(t *testing.T, h *household) {
			h.alone()
			h.empty(t)
			h.o.ClusterID, h.m.Brokers = h.meta.ClusterID, nil
			testdir.Put(t, h.fs, "/data/__cluster_metadata-0/quorum-state", nil)
			lost(t, h)
		}, "in which the node votes"},
		"several nodes, by what is here": {func(t *testing.T, h *household) {
			h.o.Others, h.o.ClusterID = nil, h.meta.ClusterID
			for i := range h.m.Topics {
				for _, replicas := range h.m.Topics[i].Partitions {
					replicas[0].Node = 8
				}
			}
			h.m.Topics[0].Partitions[0][0].Node = 7
			lost(t, h)
		}, "the only one that has all these partitions"},
		"a node that is given": {func(t *testing.T, h *household) {
			h.o.Others, h.o.ClusterID, h.o.NodeID = nil, h.meta.ClusterID, &h.meta.NodeID
			lost(t, h)
		}, "as given"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHousehold(t)
			c.change(t, h)
			result := runBoth(t, h.fs, func(fs vfs.FS) Options { o := h.o; o.FS = fs; return o })
			if got, err := checkpoint.ReadMetaProperties(h.fs, metaPath); err != nil || got != h.meta {
				t.Fatalf("%+v %v, want %+v; %v", got, err, h.meta, result.Plan.Findings)
			}
			if why := done(result); !strings.Contains(why, c.why) {
				t.Errorf("%q, should say %q", why, c.why)
			}
			for _, f := range findings(t, h.fs, "/data") {
				if f.Rule == verify.MetaProperties {
					t.Errorf("still %v", f)
				}
			}
		})
	}
}

// done is why meta.properties was written.
func done(r *Result) string {
	for _, a := range r.Done {
		if a.Path == metaPath {
			return a.Why
		}
	}
	return ""
}

// cutLine takes the line of a property out.
func cutLine(s, property string) string {
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(s, "\n"), func(l string) bool { return strings.HasPrefix(l, property) }), "")
}

// Where nothing refers to the directory's id, it is left to the broker, which draws one; ZooKeeper's time had none.
func TestWhoseDirectoryWithoutID(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(t *testing.T, h *household)
		version int
	}{
		"nothing in it": {func(t *testing.T, h *household) {
			h.o.Metadata = nil
			for name := range dirs(t, h.fs) {
				remove(t, h.fs, "/data/"+name)
			}
			testdir.Put(t, h.fs, "/data/recovery-point-offset-checkpoint", []byte("0\n0\n"))
			testdir.Put(t, h.fs, "/data/gone-0.d848adc32a734e7281c8eb9677e78332-delete/x", nil)
		}, 1},
		"ids came later": {func(_ *testing.T, h *household) {
			h.m.Brokers, h.m.Voters = map[int32][]record.UUID{h.meta.NodeID: nil}, nil
			for i := range h.m.Topics {
				h.m.Topics[i].Partitions = slices.Repeat([][]Replica{{{Node: h.meta.NodeID}}}, 3)
			}
		}, 1},
		"ZooKeeper": {func(t *testing.T, h *household) {
			h.o.Metadata = nil
			old := checkpoint.MetaProperties{ClusterID: h.meta.ClusterID, NodeID: h.meta.NodeID}
			testdir.Put(t, h.fs, "/other/meta.properties", old.Text(h.o.Now()))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHousehold(t)
			c.change(t, h)
			lost(t, h)
			result := runBoth(t, h.fs, func(fs vfs.FS) Options { o := h.o; o.FS = fs; return o })
			want := checkpoint.MetaProperties{ClusterID: h.meta.ClusterID, NodeID: h.meta.NodeID, Version: c.version}
			if got, err := checkpoint.ReadMetaProperties(h.fs, metaPath); err != nil || got != want {
				t.Errorf("%+v %v, want %+v; %v", got, err, want, result.Plan.Findings)
			}
		})
	}
}

func dirs(t testing.TB, fsys vfs.FS) map[string]bool {
	t.Helper()
	entries, err := fsys.ReadDir("/data")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() {
			all[e.Name()] = true
		}
	}
	return all
}

// Where something cannot be told, or two say different things, nothing is written, and the finding says what is missing.
func TestWhoseDirectoryCannotBeTold(t *testing.T) {
	two := int32(2)
	for name, c := range map[string]struct {
		change func(t *testing.T, h *household)
		told   string
	}{
		"no cluster id":      {func(_ *testing.T, h *household) { h.alone() }, "nothing tells the cluster id"},
		"another cluster id": {func(_ *testing.T, h *household) { h.o.ClusterID = "c2Ftc2EtaW50ZXJvcC0xMg" }, "c2Ftc2EtaW50ZXJvcC0xMg (as given)"},
		"another node id":    {func(_ *testing.T, h *household) { h.o.NodeID = &two }, "2 (as given)"},
		"no such node":       {func(_ *testing.T, h *household) { h.o.Others, h.o.ClusterID, h.o.NodeID = nil, h.meta.ClusterID, &two }, "knows no node 2"},
		"no node id":         {func(_ *testing.T, h *household) { h.o.Others, h.o.ClusterID = nil, h.meta.ClusterID }, "nothing tells the node id"},
		"nothing else":       {func(_ *testing.T, h *household) { h.o.Others, h.o.Metadata = nil, nil }, "neither a metadata log nor another directory"},
		"no metadata log":    {func(_ *testing.T, h *household) { h.o.Metadata = nil }, "only the metadata log tells the directory id"},
		"the id of another":  {func(t *testing.T, h *household) { h.damage(t, copyOf(h)) }, "CQAAAAAAAAAAAAAAAAAAAA (as what is left of the file says), and XNyV_7RJSya009KwNougXQ (where the metadata log has 5 of its partitions); if the file is not"},
		"partitions of two":  {func(_ *testing.T, h *household) { h.m.Topics[1].Partitions[0][1].Dir = record.UUID{4, 4} }, "the directory id is"},
		"a copy of another":  {func(t *testing.T, h *household) { h.m.Topics = nil; h.damage(t, copyOf(h)) }, "which /other has"},
		"one of several ids": {func(t *testing.T, h *household) {
			h.m.Topics = nil
			h.m.Brokers[h.meta.NodeID] = []record.UUID{{4}, {5}, {9}}
		}, "naming all directories"},
		"the cluster id is cut": {func(t *testing.T, h *household) {
			h.alone()
			testdir.Put(t, h.fs, metaPath, []byte("#\nversion=1\ncluster.id="+h.meta.ClusterID[:20]))
		}, "nothing tells the cluster id"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHousehold(t)
			c.change(t, h)
			if _, err := verify.ReadMeta(h.fs, "/data"); err == nil {
				lost(t, h)
			}
			plan, err := MakePlan(context.Background(), h.o)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range plan.Actions {
				t.Errorf("planned: %v", a)
			}
			said := ""
			for _, f := range plan.Findings {
				if f.Rule == verify.MetaProperties {
					said = fmt.Sprint(f)
				}
			}
			if !strings.Contains(said, c.told) {
				t.Errorf("%q, should say %q; metadata knows %v", said, c.told, slices.Collect(maps.Keys(h.m.Brokers)))
			}
		})
	}
}

// Whatever happens to the file: where verify finds it, repair writes what was there before, or nothing and says why.
func TestWhoseDirectoryMutations(t *testing.T) {
	h := newHousehold(t)
	base, before := h.fs, testdir.Tree(t, h.fs, "/data")
	r := rand.New(rand.NewPCG(4, 0))
	found, refused := 0, 0
	for range longtest.Pick(60, 3000) {
		m := draw(r, map[string][]string{".properties": {metaPath}}, before)
		fsys := base.Crash()
		testdir.Put(t, fsys, metaPath, m.mutate([]byte(before[metaPath])))
		if _, err := verify.ReadMeta(fsys, "/data"); err == nil {
			continue
		}
		found++
		o := h.o
		o.FS = fsys
		if r.IntN(2) == 0 {
			o.Others = nil // the cluster id is what is left of the file
		}
		result, err := Run(context.Background(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.ReadMetaProperties(fsys, metaPath)
		told := slices.ContainsFunc(result.Plan.Findings, func(f verify.Finding) bool { return f.Rule == verify.MetaProperties })
		switch {
		case told && len(result.Done) == 0:
			refused++
		case told || err != nil || got != h.meta:
			t.Fatalf("%v: %+v %v, want %+v; %v", m, got, err, h.meta, result.Plan.Findings)
		}
	}
	t.Logf("%d damages were found, %d could not be mended", found, refused)
	if refused == found {
		t.Error("nothing was mended")
	}
}

// copyOf makes a damaged copy of the other directory's file.
func copyOf(h *household) func(string) string {
	return func(string) string {
		other := h.meta
		other.DirectoryID = record.UUID{9}
		return strings.Replace(string(other.Text(h.o.Now())), "version=1", "version=x", 1)
	}
}

// A stray comes home in the directory whose id was told again.
func TestStrayOfADirectoryThatLostItsID(t *testing.T) {
	h := newHousehold(t)
	rename(t, h.fs, "/data/made-0", aStray)
	lost(t, h)
	runBoth(t, h.fs, func(fs vfs.FS) Options { o := h.o; o.FS = fs; return o })
	if !testdir.Missing(h.fs, aStray) {
		t.Error("the stray is still there")
	}
}
