package logdir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func TestOpenLocks(t *testing.T) {
	r := format(t, vfs.NewMem(), 2)
	m := r.open()
	r.dirs = r.dirs[1:]
	if _, err := Open(r.options()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "/data1") {
		t.Errorf("second Manager: %v", err)
	}
	mustClose(t, m)
	if got := list(t, r.fs, "/data1"); hasSuffix(got, lockFile) {
		t.Errorf("after a clean stop: %v", got)
	}
	mustClose(t, r.open())
}

func TestOpenRefuses(t *testing.T) {
	metaOf := func(m checkpoint.MetaProperties) func(*rig) {
		return func(r *rig) {
			if err := checkpoint.WriteMetaProperties(r.fs, "/data1/meta.properties", m, r.now()); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(*rig)
		want  error
		text  string
	}{
		"no meta.properties":    {func(r *rig) { _ = r.fs.Remove("/data1/meta.properties") }, ErrNotFormatted, "/data1 has no meta.properties"},
		"missing":               {func(r *rig) { _ = r.fs.RemoveAll("/data1") }, ErrNotFormatted, "/data1 does not exist"},
		"a file":                {func(r *rig) { _ = r.fs.RemoveAll("/data1"); put(t, r.fs, "/data1", "") }, ErrNotFormatted, "/data1 is a file"},
		"the same twice":        {func(r *rig) { r.dirs[1] = "/data0/" }, ErrInconsistent, "same directory"},
		"another cluster":       {metaOf(checkpoint.MetaProperties{ClusterID: "x", NodeID: 1, DirectoryID: dirIDs[1], Version: 1}), ErrInconsistent, "cluster x"},
		"another node":          {metaOf(checkpoint.MetaProperties{ClusterID: "cluster", NodeID: 2, DirectoryID: dirIDs[1], Version: 1}), ErrInconsistent, "node 2"},
		"the same id":           {metaOf(checkpoint.MetaProperties{ClusterID: "cluster", NodeID: 1, DirectoryID: dirIDs[0], Version: 1}), ErrInconsistent, "copy"},
		"ZooKeeper":             {func(r *rig) { put(t, r.fs, "/data0/meta.properties", "version=0\nbroker.id=1\ncluster.id=cluster\n") }, ErrZooKeeper, "version 0"},
		"ZooKeeper's, of whom":  {func(r *rig) { put(t, r.fs, "/data1/meta.properties", "version=0\nbroker.id=1\n") }, ErrZooKeeper, "version 0"},
		"ZooKeeper's, another":  {func(r *rig) { put(t, r.fs, "/data1/meta.properties", "version=0\nbroker.id=2\ncluster.id=cluster\n") }, ErrInconsistent, "node 2"},
		"malformed":             {func(r *rig) { put(t, r.fs, "/data1/meta.properties", "version=9\n") }, checkpoint.ErrFormat, "version"},
		"metadata log astray":   {func(r *rig) { _ = r.fs.MkdirAll("/data1/__cluster_metadata-0", 0o755) }, ErrInconsistent, "metadata.log.dir is /data0"},
		"no directories":        {func(r *rig) { r.dirs = nil }, ErrNoDirectory, "none is configured"},
		"separate, unformatted": {func(r *rig) { r.change = func(o *Options) { o.MetadataDir = "/meta" } }, ErrNotFormatted, "/meta"},
	} {
		t.Run(name, func(t *testing.T) {
			r := format(t, vfs.NewMem(), 2)
			c.spoil(r)
			m, err := Open(r.options())
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%v, want %v with %q", err, c.want, c.text)
			}
			if m != nil {
				t.Fatal("a Manager along with an error")
			}
			if lock, err := r.fs.Lock("/data0/.lock"); err != nil {
				t.Errorf("the lock of /data0 was kept: %v", err)
			} else {
				_ = lock.Close()
			}
		})
	}
}

func TestOpenAddsDirectoryID(t *testing.T) {
	r := format(t, vfs.NewMem(), 1)
	put(t, r.fs, "/data0/meta.properties", "#\n#date\nnode.id=1\nversion=1\ncluster.id=cluster\n")
	m := r.open()
	id := m.DirIDs()[0]
	mustClose(t, m)
	meta, err := checkpoint.ReadMetaProperties(r.fs, "/data0/meta.properties")
	if err != nil || id.IsReserved() || meta.DirectoryID != id || meta.ClusterID != "cluster" || meta.NodeID != 1 {
		t.Errorf("%+v %v, the Manager said %v", meta, err, id)
	}
}

// TestOpenFinishesVersion0: beside a metadata directory of version 1 one of version 0 is of the node, and is written so.
func TestOpenFinishesVersion0(t *testing.T) {
	for _, id := range []string{"", "directory.id=" + dirIDs[1].String() + "\n"} {
		r := format(t, vfs.NewMem(), 2)
		put(t, r.fs, "/data1/meta.properties", "version=0\nbroker.id=1\ncluster.id=cluster\n"+id)
		m := r.open()
		ids := m.DirIDs()
		mustClose(t, m)
		meta, err := checkpoint.ReadMetaProperties(r.fs, "/data1/meta.properties")
		want := checkpoint.MetaProperties{ClusterID: "cluster", NodeID: 1, Version: 1, DirectoryID: ids[1]}
		if err != nil || meta != want || ids[1].IsReserved() || id != "" && ids[1] != dirIDs[1] {
			t.Errorf("%+v %v, the Manager said %v", meta, err, ids)
		}
	}
}

func TestSeparateMetadataDirIsLockedOnly(t *testing.T) {
	r := format(t, vfs.NewMem(), 2)
	r.dirs = r.dirs[:1]
	r.change = func(o *Options) { o.MetadataDir = "/data1" }
	put(t, r.fs, "/data1/t-0/partition.metadata", "version: 0\ntopic_id: "+idA.String())
	put(t, r.fs, "/data1/__cluster_metadata-0/00000000000000000000.log", "")
	m := r.open()
	if _, err := r.fs.Lock("/data1/.lock"); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("lock of the metadata directory: %v", err)
	}
	if infos := m.Dirs(); len(infos) != 1 || infos[0].Path != "/data0" || len(m.Logs()) != 0 || len(m.DirIDs()) != 1 {
		t.Errorf("directories %+v", infos)
	}
	mustClose(t, m)
	if got := get(t, r.fs, "/data1/.kafka_cleanshutdown"); got != "missing" {
		t.Errorf("marker in the metadata directory: %s", got)
	}
}

func TestFormat(t *testing.T) {
	m := vfs.NewMem()
	meta := checkpoint.MetaProperties{ClusterID: "c", NodeID: 3, DirectoryID: dirIDs[0], Version: 1}
	if err := Format(m, "/a", meta); err != nil {
		t.Fatal(err)
	}
	if err := Format(m, "/a", meta); !errors.Is(err, ErrAlreadyFormatted) {
		t.Errorf("again: %v", err)
	}
	got, err := checkpoint.ReadMetaProperties(m.Crash(), filepath.Join("/a", checkpoint.MetaPropertiesFile))
	if err != nil || got != meta {
		t.Errorf("after a crash: %+v %v", got, err)
	}
}

func TestMetaAndUsage(t *testing.T) {
	r := format(t, vfs.NewMem(), 2)
	m := r.open()
	defer mustClose(t, m)
	if got := m.Meta(); got.ClusterID != "cluster" || got.NodeID != 1 || got.DirectoryID != dirIDs[0] {
		t.Errorf("meta %+v", got)
	}
	r.create(m, tp("a", 0), record.UUID{})
	r.create(m, tp("a", 1), record.UUID{})
	for i, info := range m.Dirs() {
		if info.ID != dirIDs[i] || info.Err != nil || info.Total == 0 || info.Usable == 0 || len(info.Logs) != 1 || info.Cordoned {
			t.Errorf("directory %d: %+v", i, info)
		}
	}
	if m.Handles() == nil || m.Handles().FS() != r.fs || m.FS() == nil {
		t.Error("file system or handles are others")
	}
}

// TestR16UnreadableDirAtStart: a directory that cannot be read goes offline; the others serve, and nothing that may be
// in it is created anew.
func TestR16UnreadableDirAtStart(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 2)
	first := r.open()
	r.create(first, tp("a", 0), dirIDs[0])
	produce(t, r.create(first, tp("b", 0), dirIDs[1]), 3, 1)
	mustClose(t, first)

	type failure struct {
		id  record.UUID
		dir string
	}
	failures := make(chan failure, 2)
	r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if strings.HasPrefix(op.Path, "/data1") {
			return fs.ErrPermission
		}
		return nil
	})
	r.change = func(o *Options) {
		o.OnDirFailure = func(id record.UUID, dir string, err error) { failures <- failure{id, dir} }
	}
	m := r.open()
	if f := <-failures; f.dir != "/data1" {
		t.Errorf("told of %+v", f)
	}
	if m.Log(tp("a", 0)) == nil || m.Log(tp("b", 0)) != nil {
		t.Error("the wrong logs are there")
	}
	for _, dirID := range []record.UUID{dirIDs[1]} {
		if l, _, err := m.Create(tp("b", 0), idA, wantDefaults(), dirID); !errors.Is(err, ErrOffline) || !isStorage(err) || l != nil {
			t.Errorf("create what is in the offline directory: %v", err)
		}
	}
	if _, id, err := m.Create(tp("c", 0), idA, wantDefaults(), record.UUID{}); err != nil || id != dirIDs[0] {
		t.Errorf("create something new: %v %v", id, err)
	}
	if infos := m.Dirs(); infos[1].Err == nil || len(m.DirIDs()) != 1 {
		t.Errorf("directories %+v", infos)
	}
	mustClose(t, m)

	r.fs, r.change = mem, func(*Options) {}
	again := r.open()
	defer mustClose(t, again)
	if l := again.Log(tp("b", 0)); l == nil || l.LogEndOffset() != 3 {
		t.Errorf("back again: %v", l)
	}
}

func TestNoUsableDirectory(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 2)
	r.change = func(o *Options) { o.MetadataDir = "/data1" }
	r.dirs = r.dirs[:1]
	r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if strings.HasPrefix(op.Path, "/data0") {
			return errTest
		}
		return nil
	})
	if _, err := Open(r.options()); !errors.Is(err, ErrNoDirectory) || !errors.Is(err, errTest) {
		t.Errorf("%v", err)
	}
	r.change = func(o *Options) { o.MetadataDir = "/data0" }
	if _, err := Open(r.options()); !errors.Is(err, errTest) || !strings.Contains(err.Error(), "metadata directory /data0") {
		t.Errorf("the metadata directory failed: %v", err)
	}
}
