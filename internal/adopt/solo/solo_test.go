package solo

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/metadata"
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
	f, err := os.Open("testdata/" + name + ".tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dirs := map[string]bool{"/": true}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if err := mem.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := mem.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		for d := filepath.Dir(path); d != "/"; d = filepath.Dir(d) {
			dirs[d] = true
		}
	}
	for d := range dirs {
		if err := mem.SyncDir(d); err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

func options(fsys vfs.FS) Options {
	return Options{FS: fsys, Dirs: []string{dir}, Controller: metadata.Endpoint{Name: "CONTROLLER", Host: "localhost", Port: 9093}}
}

func plan(t testing.TB, fsys vfs.FS) *Plan {
	t.Helper()
	p, err := Make(context.Background(), options(fsys))
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
		image := alone(t, mem)
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

// alone checks that a directory is that of a cluster of one node, as serve does.
func alone(t testing.TB, fsys vfs.FS) *metadata.Image {
	t.Helper()
	meta, err := checkpoint.ReadMetaProperties(fsys, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	if err != nil {
		t.Fatal(err)
	}
	found, err := metadata.Look(fsys, dir, meta.ClusterID)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Check(meta.NodeID, meta.DirectoryID); err != nil {
		t.Fatal(err)
	}
	for topic := range found.Image.Topics.All() {
		for n, p := range topic.Partitions {
			node := []int32{meta.NodeID}
			if !slices.Equal(p.Replicas, node) || !slices.Equal(p.ISR, node) && !slices.Equal(p.ELR, node) || p.Directories[0] != meta.DirectoryID {
				t.Fatalf("%s-%d is %+v", topic.Name, n, p)
			}
		}
	}
	return found.Image
}

// TestACrashAtAnyOperation is SOL-2.
func TestACrashAtAnyOperation(t *testing.T) {
	for _, name := range []string{"voter", "broker"} {
		mem := member(t, name)
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
		if err := plan(t, fault).Apply(); err != nil {
			t.Fatal(err)
		}
		images = append(images, left{mem: mem.Crash()})
		finished := 0
		for _, x := range images {
			p, err := Make(context.Background(), options(x.mem))
			if errors.Is(err, ErrAlone) {
				finished++
			} else if err != nil {
				t.Fatalf("%s: after a crash before %v it cannot be finished: %v", name, x.op, err)
			} else if err := p.Apply(); err != nil {
				t.Fatalf("%s: after a crash before %v it cannot be finished: %v", name, x.op, err)
			}
			alone(t, x.mem)
		}
		if finished == 0 || finished == len(images) {
			t.Errorf("%s: %d of %d were finished", name, finished, len(images))
		}
	}
}
