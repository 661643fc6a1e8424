package adopt

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/internal/adopt/fromlogs"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func look(t *testing.T, fsys vfs.FS, dirs ...string) *Report {
	t.Helper()
	r, err := Look(context.Background(), Options{FS: fsys, Dirs: dirs})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// partition finds a partition of a report.
func (r *Report) partition(topic string, n int32) *Partition {
	for _, t := range r.Topics {
		if t.Name == topic {
			return t.Partitions[n]
		}
	}
	return nil
}

func (r *Report) group(id string) *Group {
	if i := slices.IndexFunc(r.Groups, func(g *Group) bool { return g.ID == id }); i >= 0 {
		return r.Groups[i]
	}
	return nil
}

func TestReportOfKilled(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-killed", "/data")
	r := look(t, mem, "/data")
	d := r.Directories[0]
	if d.State != killed || d.DirectoryID != "XNyV_7RJSya009KwNougXQ" || !d.Metadata || r.Era != "kraft" || r.NodeID != 1 {
		t.Errorf("%+v", d)
	}
	if r.Writer.Program != "kafka" || r.Writer.Version != "4.4" {
		t.Errorf("%+v", r.Writer)
	}
	m := r.Metadata
	if m.Quorum != "dynamic" || !slices.Equal(m.Voters, []int32{1}) || m.LeaderEpoch != 1 || m.MetadataVersion != "33 (4.4)" || m.NextProducerID != 1000 || len(m.Brokers) != 1 {
		t.Errorf("%+v", m)
	}
	p := r.partition("txn", 0)
	if len(p.Open) != 1 || p.Open[0].ProducerID != 10 || p.Open[0].FirstOffset != 270 || p.LogEnd != 271 {
		t.Errorf("%+v", p)
	}
	if p := r.partition("compacted", 0); len(p.Deleted) == 0 || p.LogEnd != 3000 || p.TornBytes != 0 {
		t.Errorf("%+v", p)
	}
	if p := r.partition("trimmed", 0); p.LogStart != 20 || p.LogEnd != 50 {
		t.Errorf("%+v", p)
	}
	if p := r.partition("rolled", 0); !p.Missing {
		t.Errorf("%+v", p)
	}
	if len(r.Aside) != 1 || r.Aside[0].Kind != "delete" {
		t.Errorf("%+v", r.Aside)
	}
	if g := r.group("golden-group"); g == nil || g.Type != "classic" || g.Members != 0 || len(g.Offsets) != 1 || g.Offsets[0] != (Offset{"rolled", 0, 257}) {
		t.Errorf("%+v", g)
	}
	i := slices.IndexFunc(r.Transactions, func(x Transaction) bool { return x.ID == "golden-open" })
	if i < 0 || r.Transactions[i].State != "Ongoing" || !r.Transactions[i].open() || !slices.Equal(r.Transactions[i].Partitions, []string{"txn-0"}) {
		t.Errorf("%+v", r.Transactions)
	}
	if !r.Serve.Takes || len(r.Serve.Notes) > 0 || !slices.ContainsFunc(r.Serve.Changes, func(s string) bool { return strings.Contains(s, "recovery of 20 partitions") }) {
		t.Errorf("%+v", r.Serve)
	}
}

func TestReportOfClean(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	r := look(t, mem, "/data")
	if d := r.Directories[0]; d.State != clean || d.BrokerEpoch != 215 {
		t.Errorf("%+v", d)
	}
	for id, want := range map[string]Group{
		"golden-group": {Type: "classic", Epoch: 2, Offsets: []Offset{{"rolled", 0, 257}}},
		"new-group":    {Type: "consumer", Epoch: 3, Offsets: []Offset{{"rolled", 0, 50}}},
		"share-group":  {Type: "share", Epoch: 4, Offsets: []Offset{{"rolled", 0, 50}}},
	} {
		if g := r.group(id); g == nil || g.Type != want.Type || g.Epoch != want.Epoch || !slices.Equal(g.Offsets, want.Offsets) {
			t.Errorf("%s: %+v", id, g)
		}
	}
	if c := r.Metadata.Configs["group share-group"]; c["share.auto.offset.reset"] != "earliest" {
		t.Errorf("%v", r.Metadata.Configs)
	}
	if !r.Serve.Takes || len(r.Metadata.Snapshots) != 13 {
		t.Errorf("%+v", r.Serve)
	}
}

func TestReportOfOlderKafka(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-3.9.1-clean", "/data")
	r := look(t, mem, "/data")
	if r.Metadata.Quorum != "static" || r.Writer.Version != "3.9" || r.Writer.Program != "kafka" || !r.Serve.Takes || r.Metadata.MetadataVersion != "21 (3.9)" {
		t.Errorf("%+v %+v", r.Writer, r.Metadata)
	}
	unpack(t, mem, "kafka-3.9.1-zookeeper", "/zk")
	r = look(t, mem, "/zk")
	p := r.partition("old-0.9.0-none", 0)
	if r.Era != "zookeeper" || r.Serve.Takes || p.Magic != 0 || p.LogEnd != 300 || r.group("golden-admin") == nil {
		t.Errorf("%+v %+v", r.Serve, p)
	}
}

// ADO-1, over every fixture: no operation that changes, no file opened for writing, and on the host nothing is different afterwards.
func TestLookChangesNothing(t *testing.T) {
	for _, name := range fixtures() {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			unpack(t, mem, name, "/data")
			look(t, vfs.NewFault(mem, func(op vfs.Op) error {
				ownLock := filepath.Base(op.Path) == lockFile // it is there; taking it shows whether somebody has it
				if op.Kind.Changes() || op.Kind == vfs.OpLock && !ownLock || op.Kind == vfs.OpOpen && op.Flag != os.O_RDONLY {
					t.Errorf("%v", op)
				}
				return nil
			}), "/data")
			dir := t.TempDir()
			unpack(t, vfs.NewOS(), name, dir)
			before := digest(t, vfs.NewOS(), dir)
			r := look(t, vfs.NewOS(), dir)
			if after := digest(t, vfs.NewOS(), dir); !maps.Equal(before, after) {
				t.Errorf("something has changed: %d entries before, %d after", len(before), len(after))
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
		})
	}
}

// Why serve would refuse: each of the directories is changed in one respect.
func TestRefusals(t *testing.T) {
	base := vfs.NewMem()
	unpack(t, base, "kafka-4.4.0-clean", "/data")
	for name, c := range map[string]struct {
		change func(m *vfs.Mem) []string
		want   string
	}{
		"locked": {func(m *vfs.Mem) []string {
			if _, err := m.Lock("/data/.lock"); err != nil {
				t.Fatal(err)
			}
			return []string{"/data"}
		}, "in use"},
		"two clusters": {func(m *vfs.Mem) []string {
			testarchive.Put(t, m, "/two/meta.properties", []byte("version=1\ncluster.id=other\nnode.id=1\n"))
			return []string{"/data", "/two"}
		}, "is of node 1 in cluster other"},
		"a copy": {func(m *vfs.Mem) []string {
			testarchive.Put(t, m, "/two/meta.properties", testarchive.Get(t, m, "/data/meta.properties"))
			return []string{"/data", "/two"}
		}, "same directory id"},
		"not formatted": {func(m *vfs.Mem) []string {
			if err := m.MkdirAll("/two", 0o755); err != nil {
				t.Fatal(err)
			}
			return []string{"/data", "/two"}
		}, "there is no meta.properties"},
		"no metadata log": {func(m *vfs.Mem) []string {
			if err := m.RemoveAll("/data/__cluster_metadata-0"); err != nil {
				t.Fatal(err)
			}
			return []string{"/data"}
		}, "neither a metadata log"},
		"another node": {func(m *vfs.Mem) []string {
			testarchive.Put(t, m, "/data/meta.properties", []byte("version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=2\n"))
			return []string{"/data"}
		}, "names the voters"},
		"orphans": {func(m *vfs.Mem) []string {
			if err := m.Remove("/data/meta.properties"); err != nil {
				t.Fatal(err)
			}
			return []string{"/data"}
		}, "no meta.properties"},
	} {
		t.Run(name, func(t *testing.T) {
			m := vfs.NewMem()
			unpack(t, m, "kafka-4.4.0-clean", "/data")
			r := look(t, m, c.change(m)...)
			if r.Serve.Takes || !strings.Contains(strings.Join(r.Serve.Refusals, "; "), c.want) || len(r.Serve.Changes) > 0 {
				t.Errorf("%+v", r.Serve)
			}
			agrees(t, m, r)
		})
	}
}

// agrees is ADO-2: a broker does what the report says of serving. It changes the directories.
func agrees(t *testing.T, fsys vfs.FS, r *Report) {
	t.Helper()
	var dirs []string
	for _, d := range r.Directories {
		dirs = append(dirs, d.Path)
	}
	b, err := samsa.Start(context.Background(), samsa.Config{Dirs: dirs, Listen: "127.0.0.1:0", FS: fsys})
	if (err == nil) != r.Serve.Takes {
		t.Errorf("the report says %+v, a broker %v", r.Serve, err)
	}
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// What has become of a directory that a broker has taken: who wrote it, and that it is whole.
func TestReportAfterServing(t *testing.T) {
	for _, name := range fixtures() {
		t.Run(name, func(t *testing.T) {
			m := vfs.NewMem()
			unpack(t, m, name, "/data")
			before := look(t, m, "/data")
			agrees(t, m, before)
			if !before.Serve.Takes {
				return
			}
			r := look(t, m, "/data")
			if r.Writer.Program != "samsa" || r.Directories[0].State != clean || r.Metadata.LeaderEpoch != max(before.Metadata.LeaderEpoch, 0)+1 ||
				r.ClusterID != before.ClusterID || len(r.Groups) != len(before.Groups) || len(r.Topics) != len(before.Topics) || len(r.Transactions) != len(before.Transactions) {
				t.Errorf("%+v %+v", r.Writer, r.Directories[0])
			}
			for i, topic := range r.Topics {
				if was := before.Topics[i]; topic.ID != was.ID || len(topic.Partitions) != len(was.Partitions) || topic.Records < was.Records && topic.Name != "compacted" {
					t.Errorf("%s: %+v, was %+v", topic.Name, topic, was)
				}
			}
		})
	}
}

// A member of a larger cluster: replicas elsewhere.
func TestReplicasElsewhere(t *testing.T) {
	m := vfs.NewMem()
	unpack(t, m, "kafka-4.4.0-clean", "/data")
	meta, err := checkpoint.ReadMetaProperties(m, "/data/meta.properties")
	if err != nil {
		t.Fatal(err)
	}
	s, err := metadata.Open(metadata.Options{FS: m, Handles: vfs.NewHandles(m, 10), Dir: "/data", NodeID: 1, ClusterID: meta.ClusterID, DirectoryID: meta.DirectoryID})
	if err != nil {
		t.Fatal(err)
	}
	p := stored.NewPartitionChangeRecord()
	p.PartitionID = 0
	p.TopicID, p.Replicas, p.ISR = s.Image().Topics.ByName("first").ID, []int32{1, 2, 3}, []int32{1}
	if _, err := s.Append(&p); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := look(t, m, "/data")
	if r.Serve.Takes || !strings.Contains(r.Serve.Refusals[0], "replicas on other nodes [2 3] (first-0 on [1 2 3])") {
		t.Errorf("%+v", r.Serve)
	}
	agrees(t, m, r)
}

// scattered is a directory of ZooKeeper's time on two disks.
func scattered(t *testing.T) *vfs.Mem {
	m := vfs.NewMem()
	unpack(t, m, "kafka-3.9.1-zookeeper", "/data")
	testarchive.Put(t, m, "/more/meta.properties", testarchive.Get(t, m, "/data/meta.properties"))
	for _, partition := range []string{"first-0", "old-0.9.0-none-0"} {
		if err := m.Rename("/data/"+partition, "/more/"+partition); err != nil {
			t.Fatal(err)
		}
	}
	testarchive.SyncAll(t, m, "/")
	return m
}

func fromLogs(t *testing.T, fsys vfs.FS, dirs ...string) {
	t.Helper()
	p, err := fromlogs.Make(context.Background(), fromlogs.Options{FS: fsys, Dirs: dirs, NodeID: -1})
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// setVersion rewrites meta.properties.
func setVersion(t *testing.T, m *vfs.Mem, path string, version int) {
	t.Helper()
	meta, err := checkpoint.ReadMetaProperties(m, path)
	if err == nil {
		meta.Version = version
		err = checkpoint.WriteMetaProperties(m, path, meta, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Between two meta.properties an adoption was interrupted: a broker takes the directories, and finishes it.
func TestInterruptedFromLogs(t *testing.T) {
	m := scattered(t)
	fromLogs(t, m, "/data", "/more")
	setVersion(t, m, "/more/meta.properties", 0)
	r := look(t, m, "/data", "/more")
	if !r.Serve.Takes || r.Era != "kraft" || !strings.Contains(strings.Join(r.Serve.Changes, "; "), "/more: its meta.properties of ZooKeeper's time becomes") {
		t.Errorf("%+v", r.Serve)
	}
	agrees(t, m, r)
	if r := look(t, m, "/data", "/more"); r.Directories[1].Version != 1 || len(r.Aside) > 1 || r.partition("first", 0).Missing {
		t.Errorf("%+v, %+v", r.Directories[1], r.Aside)
	}
	// Not yet that of a KRaft node.
	setVersion(t, m, "/data/meta.properties", 0)
	testarchive.Put(t, m, "/data/__cluster_metadata-0/samsa-adopting", nil)
	r = look(t, m, "/data", "/more")
	if r.Serve.Takes || r.Era != "zookeeper" {
		t.Errorf("%+v", r.Serve)
	}
	agrees(t, m, r)
}

// A broker that was migrated from ZooKeeper has a meta.properties of version 0 beside a metadata log.
func TestMigratedBroker(t *testing.T) {
	m := vfs.NewMem()
	unpack(t, m, "kafka-4.4.0-clean", "/data")
	setVersion(t, m, "/data/meta.properties", 0)
	r := look(t, m, "/data")
	if r.Serve.Takes || r.Era != "kraft" || !strings.Contains(strings.Join(r.Serve.Refusals, "; "), "is of version 0") {
		t.Errorf("%+v", r.Serve)
	}
	agrees(t, m, r)
}

// The metadata log may be in any of the directories, and the voter set has the id of that.
func TestMetadataInTheSecondDirectory(t *testing.T) {
	m := scattered(t)
	fromLogs(t, m, "/more", "/data")
	r := look(t, m, "/data", "/more")
	if !r.Serve.Takes || r.Metadata.Directory != "/more" {
		t.Fatalf("%+v", r.Serve)
	}
	start := func(c samsa.Config) {
		t.Helper()
		c.Listen, c.FS = "127.0.0.1:0", m
		b, err := samsa.Start(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}
	start(samsa.Config{Dirs: []string{"/data", "/more"}, Properties: map[string]string{"metadata.log.dir": "/more"}})
	// Read-only: a metadata directory that holds no partitions, and one of several.
	start(samsa.Config{Dirs: []string{"/data", "/more"}, ReadOnly: true, Properties: map[string]string{"metadata.log.dir": "/more"}})
	start(samsa.Config{Dirs: []string{"/data"}, ReadOnly: true, Properties: map[string]string{"metadata.log.dir": "/more"}})
}

// What the metadata knows and the disk has not, and the other way round; a torn tail; an interrupted compaction.
func TestOddDirectories(t *testing.T) {
	m := vfs.NewMem()
	unpack(t, m, "kafka-4.4.0-killed", "/data")
	log := "/data/first-0/00000000000000000000.log"
	testarchive.Put(t, m, log, append(testarchive.Get(t, m, log), 1, 2, 3, 4, 5))
	testarchive.Put(t, m, "/data/codec-none-0/00000000000000000000.log.cleaned", []byte("half"))
	testarchive.Put(t, m, "/data/codec-none-1/00000000000000000000.index.swap", nil)
	testarchive.Put(t, m, "/data/stranger-3/00000000000000000000.log", nil)
	testarchive.Put(t, m, "/data/not a partition/x", nil)
	testarchive.Put(t, m, "/data/"+checkpoint.LogStartFile, []byte("no checkpoint\n"))
	testarchive.Put(t, m, "/data/first-0/leader-epoch-checkpoint.tmp", nil)
	r := look(t, m, "/data")
	if p := r.partition("first", 0); p.TornBytes != 5 || p.LogEnd != 1 {
		t.Errorf("%+v", p)
	}
	if p := r.partition("codec-none", 0); len(p.Cleaned) != 1 {
		t.Errorf("%+v", p)
	}
	if p := r.partition("codec-none", 1); len(p.Swap) != 1 {
		t.Errorf("%+v", p)
	}
	if !slices.ContainsFunc(r.Aside, func(a Aside) bool { return a.Kind == "unknown" && a.Path == "/data/stranger-3" }) {
		t.Errorf("%+v", r.Aside)
	}
	if d := r.Directories[0]; !slices.Equal(d.Foreign, []string{"not a partition"}) || len(d.checkpointErrors) != 1 {
		t.Errorf("%+v", d)
	}
}

// The names of metadata.version's levels reach from the oldest to the newest that is known.
func TestReleases(t *testing.T) {
	last := releases()[len(releases())-1]
	if last.level != metadata.MaxMetadataVersion || releaseOf(metadata.MinMetadataVersion) != "3.3" || releaseOf(metadata.MinMetadataVersion-1) != "" ||
		releaseOf(metadata.MaxMetadataVersion+1) != "" || releaseOf(22) != "4.0" {
		t.Error("the table has gaps")
	}
}
