package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func id(t testing.TB, fsys vfs.FS, dir string) record.UUID {
	t.Helper()
	id, err := checkpoint.ReadPartitionMetadata(fsys, dir+"/partition.metadata")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// cluster is what the metadata log would say of the topics of whole.
func cluster(t testing.TB, fsys vfs.FS) *Metadata {
	t.Helper()
	meta, err := checkpoint.ReadMetaProperties(fsys, "/data/meta.properties")
	if err != nil {
		t.Fatal(err)
	}
	at := func(node int32, dir record.UUID) []Replica {
		return []Replica{{Node: 7, Dir: record.UUID{7, 7}}, {Node: node, Dir: dir}}
	}
	here := func() []Replica { return at(meta.NodeID, meta.DirectoryID) }
	return &Metadata{Topics: []Topic{
		{Name: "made", ID: id(t, fsys, "/data/made-0"), Partitions: [][]Replica{here(), at(meta.NodeID, record.UUID{9}), at(8, record.UUID{9})}},
		{Name: "trimmed", ID: id(t, fsys, "/data/trimmed-0"), Partitions: [][]Replica{here(), here(), here()}},
		{Name: "txn", ID: id(t, fsys, "/data/txn-0"), Compacted: true, Partitions: [][]Replica{here()}},
	}}
}

const aStray = "/data/made-0.0123456789abcdef0123456789abcdef-stray"

func rename(t testing.TB, fsys vfs.FS, from, to string) {
	t.Helper()
	if err := errors.Join(fsys.Rename(from, to), fsys.SyncDir("/data")); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, fsys *vfs.Mem, path string) {
	t.Helper()
	if err := fsys.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	testdir.SyncAll(t, fsys, "/")
}

// empty is a partition that a broker has just begun.
func empty(t testing.TB, fsys vfs.FS, dir string, topic record.UUID) {
	t.Helper()
	for name, b := range map[string]string{"00000000000000000000.log": "", "00000000000000000000.index": "", "00000000000000000000.timeindex": "",
		"leader-epoch-checkpoint": "0\n1\n0 0\n", "partition.metadata": string(checkpoint.PartitionMetadata(topic))} {
		testdir.Put(t, fsys, dir+"/"+name, []byte(b))
	}
}

// misplaced is a directory in which a partition was set aside and begun anew, another has lost its id, and so has a stray.
func misplaced(t *testing.T) (*vfs.Mem, func(vfs.FS) Options) {
	t.Helper()
	fsys := whole(t)
	m := cluster(t, fsys)
	rename(t, fsys, "/data/made-0", aStray)
	empty(t, fsys, "/data/made-0", m.Topics[0].ID)
	testdir.Edit(t, fsys, aStray+"/00000000000000000200.log", testdir.Flip(5000))
	remove(t, fsys, "/data/trimmed-1/partition.metadata")
	testdir.Put(t, fsys, "/data/empty-0/partition.metadata", []byte("version: 0\ntopic_id: x"))
	return fsys, func(fs vfs.FS) Options {
		o := options(fs)
		o.Metadata = func() (*Metadata, error) { return m, nil }
		return o
	}
}

// run repairs, undoes in a copy, and returns what was done.
func runBoth(t *testing.T, fsys *vfs.Mem, o func(vfs.FS) Options) *Result {
	t.Helper()
	before := testdir.Tree(t, fsys, "/")
	result, err := Run(context.Background(), o(fsys), nil)
	if err != nil {
		t.Fatal(err)
	}
	if result.Journal != "" {
		back := fsys.Crash()
		if _, err := Undo(context.Background(), back, result.Journal); err != nil {
			t.Fatal(err)
		}
		testdir.Same(t, testdir.Tree(t, back, "/"), before)
	}
	return result
}

// T-08: a partition that was set aside although the metadata log speaks of it is brought back, mended too; the empty log that
// was begun in its place goes.
func TestStrayIsBroughtBack(t *testing.T) {
	fsys, o := misplaced(t)
	stray := testdir.Tree(t, fsys, aStray)
	runBoth(t, fsys, o)
	if !testdir.Missing(fsys, aStray) {
		t.Error("the stray is still there")
	}
	for path, b := range stray {
		name := strings.TrimPrefix(path, aStray)
		if strings.Contains(name, "00000000000000000200") {
			continue // mended
		}
		if string(testdir.Get(t, fsys, "/data/made-0"+name)) != b {
			t.Errorf("%s differs", name)
		}
	}
	for _, f := range findings(t, fsys, "/data") {
		if f.Rule != verify.OffsetGap && f.File != "/data/empty-0/partition.metadata" {
			t.Errorf("still %v", f)
		}
	}
}

// What is not clearly this directory's stays a stray, and nothing is moved.
func TestStraysThatStay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, fsys *vfs.Mem, m *Metadata)
		told   bool
	}{
		"the topic is gone":            {func(_ *testing.T, _ *vfs.Mem, m *Metadata) { m.Topics = m.Topics[1:] }, false},
		"the topic was created anew":   {func(_ *testing.T, _ *vfs.Mem, m *Metadata) { m.Topics[0].ID = record.UUID{7} }, false},
		"another directory has it":     {func(_ *testing.T, _ *vfs.Mem, m *Metadata) { m.Topics[0].Partitions[0][1].Dir = record.UUID{8} }, false},
		"another node has it":          {func(_ *testing.T, _ *vfs.Mem, m *Metadata) { m.Topics[0].Partitions[0][1].Node = 8 }, false},
		"there is no such partition":   {func(_ *testing.T, _ *vfs.Mem, m *Metadata) { m.Topics[0].Partitions = nil }, false},
		"whose directory is not known": {func(t *testing.T, fsys *vfs.Mem, _ *Metadata) { remove(t, fsys, "/data/meta.properties") }, false},
		"another log has its place":    {func(t *testing.T, fsys *vfs.Mem, _ *Metadata) { rolled(t, fsys) }, true},
		"no id, and a log has its place": {func(t *testing.T, fsys *vfs.Mem, m *Metadata) {
			remove(t, fsys, aStray+"/partition.metadata")
			empty(t, fsys, "/data/made-0", m.Topics[0].ID)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := whole(t)
			m := cluster(t, fsys)
			rename(t, fsys, "/data/made-0", aStray)
			c.change(t, fsys, m)
			o := options(fsys)
			o.Metadata = func() (*Metadata, error) { return m, nil }
			plan, err := MakePlan(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range plan.Actions {
				t.Errorf("planned: %v", a)
			}
			if told := slices.ContainsFunc(plan.Findings, func(f verify.Finding) bool { return f.Rule == verify.StrayPartition }); told != c.told {
				t.Errorf("told %v: %v", told, plan.Findings)
			}
		})
	}
}

// A stray without an id, as a broker makes it of a partition that has lost it, comes back by its name where nobody has taken it.
func TestStrayWithoutID(t *testing.T) {
	fsys := whole(t)
	m := cluster(t, fsys)
	rename(t, fsys, "/data/made-0", aStray)
	remove(t, fsys, aStray+"/partition.metadata")
	runBoth(t, fsys, func(fs vfs.FS) Options {
		o := options(fs)
		o.Metadata = func() (*Metadata, error) { return m, nil }
		return o
	})
	if got := id(t, fsys, "/data/made-0"); got != m.Topics[0].ID {
		t.Errorf("id %v", got)
	}
	if all := findings(t, fsys, "/data"); len(all) != 0 {
		t.Errorf("%v", all)
	}
}

// A lost topic id is what the metadata log says, or what the other partitions of the topic do if there is none; where nobody
// tells, the finding stays.
func TestLostTopicID(t *testing.T) {
	for name, c := range map[string]struct {
		lose     []string
		metadata bool
		failing  bool
		want     map[string]bool
	}{
		"metadata log":         {[]string{"trimmed-1", "txn-0"}, true, false, map[string]bool{"trimmed-1": true, "txn-0": true}},
		"other partitions":     {[]string{"trimmed-1", "txn-0"}, false, false, map[string]bool{"trimmed-1": true}},
		"metadata is damaged":  {[]string{"trimmed-1"}, true, true, map[string]bool{"trimmed-1": true}},
		"all partitions":       {[]string{"trimmed-0", "trimmed-1", "trimmed-2"}, false, false, nil},
		"topic does not exist": {[]string{"empty-0"}, true, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := whole(t)
			m := cluster(t, fsys)
			ids := map[string]record.UUID{}
			for _, dir := range c.lose {
				ids[dir] = id(t, fsys, "/data/"+dir)
				remove(t, fsys, "/data/"+dir+"/partition.metadata")
			}
			result := runBoth(t, fsys, func(fs vfs.FS) Options {
				o := options(fs)
				if c.metadata {
					o.Metadata = func() (*Metadata, error) {
						if c.failing {
							return nil, errors.New("damaged")
						}
						return m, nil
					}
				}
				return o
			})
			for _, dir := range c.lose {
				path := "/data/" + dir + "/partition.metadata"
				told := slices.ContainsFunc(result.Plan.Findings, func(f verify.Finding) bool { return f.File == path })
				switch missing := testdir.Missing(fsys, path); {
				case c.want[dir] && (missing || told || id(t, fsys, "/data/"+dir) != ids[dir]):
					t.Errorf("%s was not mended: %v", dir, result.Plan.Findings)
				case !c.want[dir] && (!missing || !told):
					t.Errorf("%s was mended, or nothing is told: %v", dir, result.Plan.Findings)
				}
			}
		})
	}
}

// raftDir is the directory of a metadata log with a bootstrap snapshot and two later ones.
func raftDir(t testing.TB) *vfs.Mem {
	t.Helper()
	fsys := whole(t)
	from := testdir.Unpack(t, "../testdata/kafka-4.4.0-clean.tar.gz", "")
	for path, b := range testdir.Tree(t, from, "__cluster_metadata-0") {
		if !strings.HasSuffix(path, "index") {
			testdir.Put(t, fsys, "/data/"+path, []byte(b))
		}
	}
	const dir = "/data/__cluster_metadata-0/"
	offsets, times, err := indexContent(fsys, dir+name(0)+".log", 0)
	if err != nil {
		t.Fatal(err)
	}
	testdir.Put(t, fsys, dir+name(0)+".index", offsets)
	testdir.Put(t, fsys, dir+name(0)+".timeindex", times)
	testdir.Put(t, fsys, dir+"quorum-state", []byte(`{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`))
	testdir.Put(t, fsys, dir+"leader-epoch-checkpoint", []byte("0\n2\n1 0\n2 164\n"))
	testdir.Put(t, fsys, dir+"partition.metadata", []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"))
	return fsys
}

// Of the metadata log: a snapshot that is wrong goes if another one is whole, quorum-state is forgotten, the id is known.
func TestMetadataLog(t *testing.T) {
	const dir = "/data/__cluster_metadata-0/"
	newest, older, first := dir+"00000000000000000356-0000000002.checkpoint", dir+"00000000000000000315-0000000002.checkpoint", dir+"00000000000000000000-0000000000.checkpoint"
	if all := findings(t, raftDir(t), "/data"); len(all) > 0 {
		t.Fatalf("the undamaged directory: %v", all)
	}
	for name, c := range map[string]struct {
		damage []string
		lose   []string
		gone   []string
		told   []string
	}{
		"newest snapshot":  {damage: []string{newest}, gone: []string{newest}},
		"two snapshots":    {damage: []string{newest, older}, gone: []string{newest, older}},
		"all snapshots":    {damage: []string{newest, older, first}, told: []string{newest, older, first}},
		"quorum-state":     {damage: []string{dir + "quorum-state"}, gone: []string{dir + "quorum-state"}},
		"topic id":         {damage: []string{dir + "partition.metadata"}},
		"all of its files": {damage: []string{older, dir + "quorum-state", dir + "partition.metadata", dir + "leader-epoch-checkpoint"}, gone: []string{older, dir + "quorum-state"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := raftDir(t)
			for _, path := range c.damage {
				testdir.Edit(t, fsys, path, func(b []byte) []byte { return b[:len(b)*2/3] })
			}
			result := runBoth(t, fsys, func(fs vfs.FS) Options { return options(fs) })
			for _, path := range c.gone {
				if !testdir.Missing(fsys, path) {
					t.Errorf("%s is still there", path)
				}
			}
			var told []string
			for _, f := range findings(t, fsys, "/data") {
				told = append(told, f.File)
			}
			slices.Sort(told)
			slices.Sort(c.told)
			if fmt.Sprint(told) != fmt.Sprint(c.told) || len(result.Plan.Findings) != len(c.told) {
				t.Errorf("left: %v, %v", told, result.Plan.Findings)
			}
			if got := id(t, fsys, "/data/__cluster_metadata-0"); got != metadataTopicID() {
				t.Errorf("id %v", got)
			}
		})
	}
}
