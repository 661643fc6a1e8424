package fromlogs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/internal/adopt/internal/adopttest"
	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// options are those of a plan for the directories of a file system.
func options(fsys vfs.FS, dirs ...string) Options {
	return Options{FS: fsys, Dirs: dirs, NodeID: -1, Controller: metadata.Endpoint{Host: "localhost", Port: 9093},
		// The clock of the fixture, so that nothing is old but what has no time or an artificial one.
		Now: func() time.Time { return time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC) }}
}

func plan(t testing.TB, o Options) *Plan {
	t.Helper()
	p, err := Make(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// topic returns a topic of a plan with its settings as text.
func topic(t testing.TB, p *Plan, name string) (*Topic, string) {
	t.Helper()
	for _, x := range p.Topics {
		if x.Name == name {
			var settings []string
			for _, s := range x.Settings {
				if s.Why == "" {
					t.Errorf("%s: %s has no reason", name, s.Key)
				}
				settings = append(settings, s.Key+"="+s.Value)
			}
			return x, strings.Join(settings, " ")
		}
	}
	t.Fatalf("no topic %s in the plan", name)
	return nil, ""
}

// TestPlanOfAZooKeeperDirectory is FLG-1 and what is told from the files.
func TestPlanOfAZooKeeperDirectory(t *testing.T) {
	mem := zooKeeper(t)
	fault := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind.Changes() || op.Kind == vfs.OpLock || op.Kind == vfs.OpOpen && op.Flag != os.O_RDONLY {
			t.Errorf("a plan changes something: %v", op)
		}
		return nil
	})
	p := plan(t, options(fault, dir))
	if p.ClusterID != "OSimxJx3Q4WXRNmAOLtZzQ" || p.NodeID != 0 || p.Directories[0].Era != "zookeeper" || !p.Directories[0].NewID {
		t.Errorf("%+v", p)
	}
	for name, want := range map[string]string{
		"__consumer_offsets":  "cleanup.policy=compact compression.type=producer segment.bytes=104857600",
		"__transaction_state": "cleanup.policy=compact compression.type=uncompressed min.insync.replicas=1 segment.bytes=104857600 unclean.leader.election.enable=false",
		"appendtime":          "message.timestamp.type=LogAppendTime",
		"compacted":           "cleanup.policy=compact",
		"old-0.9.0-none":      "retention.ms=-1", // no timestamps: as old as it gets
		"old-0.10.2-none":     "",
		"txn":                 "", // what transactions leave are no holes
		"empty":               "",
	} {
		x, settings := topic(t, p, name)
		if settings != want {
			t.Errorf("%s: %q, not %q", name, settings, want)
		}
		if x.NewID {
			t.Errorf("%s: partition.metadata was not read", name)
		}
		for n, y := range x.Partitions {
			if y.Number != int32(n) || y.Dir == "" || !y.HasID {
				t.Errorf("%s: partition %d is %+v", name, n, y)
			}
		}
	}
	if len(p.Directories[0].Aside) != 1 {
		t.Errorf("set aside: %v", p.Directories[0].Aside)
	}
}

// TestRoundest: what people choose.
func TestRoundest(t *testing.T) {
	for _, x := range [][3]int64{
		{1046761, 1050717, 1048576}, {16 << 20, 16<<20 + 9000, 16 << 20}, {499_990_000, 500_020_000, 500_000_000},
		{104857000, 104858000, 104857600}, {1073740000, 1073743000, 1 << 30}, {1_500_100, 1_500_300, 1_500_160}, {1_500_101, 1_500_103, 1_500_103},
	} {
		if got := roundest(x[0], x[1]); got != x[2] {
			t.Errorf("of %d to %d it is %d, not %d", x[0], x[1], got, x[2])
		}
	}
}

// TestSegmentBytesFromRolls: where all segments ended alike the setting is known; where time ended them it is not.
func TestSegmentBytesFromRolls(t *testing.T) {
	for _, x := range []struct {
		rolls []roll
		want  string
	}{
		{[]roll{{1046651, 4068}, {1046761, 4068}}, "1048576"},
		{[]roll{{1046651, 4068}}, ""},                           // one may be chance
		{[]roll{{1046651, 4068}, {200, 4068}}, ""},              // ended by time
		{[]roll{{1<<30 - 100, 4068}, {1<<30 - 4000, 4068}}, ""}, // the default
		{[]roll{{16000, 900}, {16100, 900}}, ""},                // less than Kafka 4 takes
		{[]roll{{2<<20 - 100, 4068}, {2<<20 - 5, 4068}}, "2097152"},
	} {
		p, topic := &Plan{}, &Topic{Name: "t", Partitions: []*Partition{{Dir: "d", sample: sample{rolled: x.rolls}}}}
		p.segmentBytes(topic)
		got := ""
		for _, s := range topic.Settings {
			got = s.Value
		}
		if got != x.want {
			t.Errorf("%v: %q, not %q", x.rolls, got, x.want)
		}
	}
}

// TestOverrides: what is given goes before what is found.
func TestOverrides(t *testing.T) {
	o := options(zooKeeper(t, "compacted-0", "appendtime-0", "__consumer_offsets-0"), dir)
	o.Configs = map[string]map[string]string{"*": {"retention.ms": "5"}, "compacted": {"cleanup.policy": "", "max.message.bytes": "7"}}
	o.Partitions = map[string]int32{"appendtime": 3}
	p := plan(t, o)
	if _, settings := topic(t, p, "compacted"); settings != "max.message.bytes=7 retention.ms=5" {
		t.Error(settings)
	}
	if _, settings := topic(t, p, "__consumer_offsets"); strings.Contains(settings, "retention") {
		t.Error(settings)
	}
	if x, _ := topic(t, p, "appendtime"); len(x.Partitions) != 3 || x.Partitions[2].Dir != "" {
		t.Errorf("%+v", x)
	}
	o.Configs["other"] = map[string]string{"retention.ms": "5"}
	if _, err := Make(context.Background(), o); err == nil {
		t.Error("settings of a topic that is not here were taken")
	}
}

// TestTheNumberOfOffsetsPartitionsIsTold by the groups in those that are here.
func TestTheNumberOfOffsetsPartitionsIsTold(t *testing.T) {
	for _, count := range []int32{2, 7, 50, 97} {
		mem := vfs.NewMem()
		most := int32(0)
		for _, group := range []string{"a-group", "another", "ein dritter", "x"} {
			n := coord.PartitionFor(group, count)
			most = max(most, n)
			key := &stored.OffsetCommitKey{Group: group, Topic: "t"}
			b := record.NewBuilder(record.BuilderOptions{})
			b.Append(1, stored.AppendKey(nil, key), stored.AppendValue(nil, &stored.OffsetCommitValue{}, 3), nil)
			testarchive.Put(t, mem, filepath.Join(dir, fmt.Sprintf("%s-%d", offsetsTopic, n), "00000000000000000000.log"), b.Build())
		}
		x, _ := topic(t, plan(t, options(mem, dir)), offsetsTopic)
		if got := int32(len(x.Partitions)); got != count {
			t.Errorf("%d partitions of %d (the last that is here is %d)", got, count, most)
		}
	}
}

// TestDirectoriesThatContradict are refused with ErrDisagree.
func TestDirectoriesThatContradict(t *testing.T) {
	second := func(t *testing.T, meta, partition string) Options {
		mem := zooKeeper(t, "first-0", "empty-0")
		testarchive.Put(t, mem, "/more/meta.properties", []byte(meta))
		testarchive.Put(t, mem, filepath.Join("/more", partition, "00000000000000000000.log"), nil)
		testarchive.Put(t, mem, filepath.Join("/more", partition, "partition.metadata"), []byte("version: 0\ntopic_id: 0IO6IDgWSLO8G2g6pc_NoQ"))
		return options(mem, dir, "/more")
	}
	for name, o := range map[string]Options{
		"cluster": second(t, "version=0\nbroker.id=0\ncluster.id=other\n", "x-0"),
		"node":    second(t, "version=0\nbroker.id=7\ncluster.id=OSimxJx3Q4WXRNmAOLtZzQ\n", "x-0"),
		"twice":   second(t, "version=0\nbroker.id=0\ncluster.id=OSimxJx3Q4WXRNmAOLtZzQ\n", "first-0"),
		"ids":     second(t, "version=0\nbroker.id=0\ncluster.id=OSimxJx3Q4WXRNmAOLtZzQ\n", "first-1"),
	} {
		if _, err := Make(context.Background(), o); !errors.Is(err, ErrDisagree) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Make(context.Background(), second(t, "", "x-0")); err != nil {
		t.Errorf("a directory that does not say whose it is: %v", err)
	}
}

// TestOrphans: directories without any small file get everything new.
func TestOrphans(t *testing.T) {
	mem := zooKeeper(t, "compacted-0", "first-0", "old-0.9.0-none-0")
	for path := range files(t, mem, dir) {
		if !strings.HasSuffix(path, ".log") {
			if err := mem.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := plan(t, options(mem, dir))
	if _, settings := topic(t, p, "compacted"); settings != "cleanup.policy=compact" {
		t.Errorf("compaction does not show in the records: %q", settings)
	}
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	adopttest.Single(t, mem, dir)
	again := plan2(t, mem)
	if !errors.Is(again, ErrHasMetadata) {
		t.Errorf("a second time: %v", again)
	}
}

func plan2(t testing.TB, fsys vfs.FS) error {
	_, err := Make(context.Background(), options(fsys, dir))
	return err
}

// TestApply: the metadata says what the plan says, and nothing else has changed.
func TestApply(t *testing.T) {
	mem := zooKeeper(t)
	before := files(t, mem, dir)
	p := plan(t, options(mem, dir))
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	image := adopttest.Single(t, mem, dir)
	if image.Topics.Len() != len(p.Topics) || image.NextProducerID <= 0 || image.NextProducerID%idBlock != 0 {
		t.Errorf("%d topics of %d, producer ids from %d", image.Topics.Len(), len(p.Topics), image.NextProducerID)
	}
	compacted := image.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: "compacted"})
	if !maps.Equal(compacted, map[string]string{"cleanup.policy": "compact"}) {
		t.Error(compacted)
	}
	for path, text := range files(t, mem, dir) {
		switch rel, _ := filepath.Rel(dir, path); {
		case rel == checkpoint.MetaPropertiesFile, strings.HasPrefix(rel, metadataName):
		case before[path] != text:
			t.Errorf("%s has changed", path)
		default:
			delete(before, path)
		}
	}
	delete(before, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	if len(before) > 0 {
		t.Errorf("files are gone: %v", before)
	}
	if e := image.Topics.ByName("txn").Partitions[0].LeaderEpoch; e < 1 {
		t.Errorf("leader epoch %d", e)
	}
	if image.Topics.ByName("first").ID == (record.UUID{}) {
		t.Error("no id")
	}
}
