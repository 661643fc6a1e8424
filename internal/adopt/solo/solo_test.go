package solo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/adopt/internal/adopttest"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dir = "/data"

// member puts, durably, what a kill left of a node of a cluster of three of Apache Kafka 4.4.0: "voter" is node 2, a
// controller and broker; "broker" is node 3, a broker only. Controllers were 1 and 2.
func member(t testing.TB, name string) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	testarchive.Unpack(t, mem, "testdata/"+name+".tar.zst", dir)
	return mem
}

// scatter moves some partitions to other directories of the node: /more has no directory id yet, as those of Kafka 3.6, /old
// is of version 0, as those of a broker that was migrated from ZooKeeper.
func scatter(t testing.TB, mem *vfs.Mem) []string {
	t.Helper()
	meta, err := checkpoint.ReadMetaProperties(mem, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	if err != nil {
		t.Fatal(err)
	}
	for at, text := range map[string]string{"/more": "version=1\nnode.id=%d\ncluster.id=%s\n", "/old": "version=0\nbroker.id=%d\ncluster.id=%s\n"} {
		testarchive.Put(t, mem, filepath.Join(at, checkpoint.MetaPropertiesFile), fmt.Appendf(nil, text, meta.NodeID, meta.ClusterID))
	}
	for partition, at := range map[string]string{"three-0": "/more", "three-1": "/old", "__consumer_offsets-2": "/old"} {
		if err := errors.Join(mem.Rename(filepath.Join(dir, partition), filepath.Join(at, partition)), mem.SyncDir(at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := mem.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	return []string{dir, "/more", "/old"}
}

// options are those for directories, nil stands for dir alone.
func options(fsys vfs.FS, dirs ...string) Options {
	if dirs == nil {
		dirs = []string{dir}
	}
	return Options{FS: fsys, Dirs: dirs, Controller: metadata.Endpoint{Name: "CONTROLLER", Host: "localhost", Port: 9093}}
}

func plan(t testing.TB, fsys vfs.FS, dirs ...string) *Plan {
	t.Helper()
	p, err := Make(context.Background(), options(fsys, dirs...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// names lists partitions.
func names(list []Partition) (out []string) {
	for _, x := range list {
		out = append(out, fmt.Sprintf("%s-%d", x.Topic, x.Partition))
	}
	slices.Sort(out)
	return out
}

// TestPlanOfAMember is SOL-1, and what is here of which partition.
func TestPlanOfAMember(t *testing.T) {
	for name, want := range map[string][3][]string{
		"voter": {
			{"__consumer_offsets-1", "__consumer_offsets-2", "one-1", "one-4", "three-0", "three-1", "three-2", "two-0", "two-1"}, nil,
			{"__consumer_offsets-0", "one-0", "one-2", "one-3", "one-5"},
		},
		"broker": {
			{"__consumer_offsets-0", "__consumer_offsets-2", "one-2", "one-5", "three-0", "three-1", "three-2", "two-1"}, nil,
			{"__consumer_offsets-1", "one-0", "one-1", "one-3", "one-4", "two-0"},
		},
	} {
		mem := member(t, name)
		p := plan(t, vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind.Changes() {
				t.Errorf("a plan changes something: %v", op)
			}
			return nil
		}))
		for i, list := range [][]Partition{p.Whole, p.Behind, p.Empty} {
			if !slices.Equal(names(list), want[i]) {
				t.Errorf("%s: %v, not %v", name, names(list), want[i])
			}
		}
		if !slices.Equal(p.Removed, []string{"away"}) || !slices.Equal(p.Voters, []int32{1, 2}) || len(p.Brokers) != 2 || !slices.Equal(p.MinInsync, []string{"two"}) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestApply: afterwards the node is all there is, and the ids are what they were.
func TestApply(t *testing.T) {
	for _, name := range []string{"voter", "broker"} {
		mem := member(t, name)
		p := plan(t, mem)
		before, err := metadata.Look(mem, dir, p.ClusterID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(); err != nil {
			t.Fatal(err)
		}
		image := adopttest.Single(t, mem, dir)
		for topic := range before.Image.Topics.All() {
			now := image.Topics.ByID(topic.ID)
			if (now == nil) != (topic.Name == "away") || now != nil && len(now.Partitions) != len(topic.Partitions) {
				t.Errorf("%s: topic %s has become %+v", name, topic.Name, now)
			}
		}
		if image.NextProducerID != before.Image.NextProducerID || len(image.Brokers) != 1 {
			t.Errorf("%s: %+v", name, image)
		}
		for topic, want := range map[string]string{"two": "1"} {
			if got := image.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: topic})["min.insync.replicas"]; got != want {
				t.Errorf("%s: min.insync.replicas of %s is %q", name, topic, got)
			}
		}
		if _, err := Make(context.Background(), options(mem)); !errors.Is(err, ErrAlone) {
			t.Errorf("%s: a second time: %v", name, err)
		}
	}
}

// TestACrashAtAnyOperation is SOL-2.
func TestACrashAtAnyOperation(t *testing.T) {
	for _, name := range []string{"voter", "broker"} {
		t.Run(name, func(t *testing.T) { crashAnywhere(t, member(t, name), []string{dir}) })
		t.Run(name+" of three directories", func(t *testing.T) {
			mem := member(t, name)
			crashAnywhere(t, mem, scatter(t, mem))
		})
	}
}

func crashAnywhere(t *testing.T, mem *vfs.Mem, dirs []string) {
	type left struct {
		op  vfs.Op
		mem *vfs.Mem
	}
	var images []left
	fault := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind.Changes() {
			images = append(images, left{op, mem.Crash()})
			for seed := range longtest.Pick(uint64(2), 20) {
				images = append(images, left{op, mem.CrashKeeping(seed + uint64(op.N)*100)})
			}
		}
		return nil
	})
	if err := plan(t, fault, dirs...).Apply(); err != nil {
		t.Fatal(err)
	}
	images = append(images, left{mem: mem.Crash()})
	finished := 0
	for i, x := range images {
		if i%longtest.Pick(4, 1) != 0 && i+1 < len(images) {
			continue
		}
		p, err := Make(context.Background(), options(x.mem, dirs...))
		if errors.Is(err, ErrAlone) {
			finished++
		} else if err != nil {
			t.Fatalf("after a crash before %v it cannot be finished: %v", x.op, err)
		} else if err := p.Apply(); err != nil {
			t.Fatalf("after a crash before %v it cannot be finished: %v", x.op, err)
		}
		adopttest.Single(t, x.mem, dirs...)
	}
	if finished == 0 || finished > len(images)/2 {
		t.Errorf("%d of %d were finished", finished, len(images))
	}
	t.Logf("%d images, %d finished", len(images), finished)
}

// TestAMigratedBroker: a meta.properties of ZooKeeper's time does not hide that there is a metadata log, and becomes one of
// KRaft's.
func TestAMigratedBroker(t *testing.T) {
	mem := member(t, "broker")
	path := filepath.Join(dir, checkpoint.MetaPropertiesFile)
	meta, err := checkpoint.ReadMetaProperties(mem, path)
	if err != nil {
		t.Fatal(err)
	}
	meta.Version = 0
	if err := checkpoint.WriteMetaProperties(mem, path, meta, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := plan(t, mem).Apply(); err != nil {
		t.Fatal(err)
	}
	adopttest.Single(t, mem, dir)
	if err := mem.RemoveAll(filepath.Join(dir, metadata.TopicName+"-0")); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(context.Background(), options(mem)); !errors.Is(err, ErrNoMetadata) {
		t.Errorf("without its metadata log: %v", err)
	}
}

// TestAMetadataDirectoryOfItsOwn: with metadata.log.dir outside of log.dirs it is that directory's id which the voter set has.
func TestAMetadataDirectoryOfItsOwn(t *testing.T) {
	mem := member(t, "voter")
	const own = "/meta"
	meta := testarchive.Get(t, mem, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	testarchive.Put(t, mem, filepath.Join(own, checkpoint.MetaPropertiesFile), meta)
	testarchive.Put(t, mem, filepath.Join(dir, checkpoint.MetaPropertiesFile), regexp.MustCompile("directory.id=.*\n").ReplaceAll(meta, nil))
	log := metadata.TopicName + "-0"
	if err := mem.Rename(filepath.Join(dir, log), filepath.Join(own, log)); err != nil {
		t.Fatal(err)
	}
	o := options(mem)
	o.MetadataDir = own
	p, err := Make(context.Background(), o)
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	adopttest.Single(t, mem, own, dir)
	if _, err := Make(context.Background(), o); !errors.Is(err, ErrAlone) {
		t.Errorf("a second time: %v", err)
	}
}
