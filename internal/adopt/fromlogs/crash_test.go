package fromlogs

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/adopt/internal/adopttest"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// TestACrashAtAnyOperation is FLG-2: what a power failure leaves is still the directories they were, with remains that
// brokers remove, and the adoption finishes it; or brokers open it.
func TestACrashAtAnyOperation(t *testing.T) {
	for name, dirs := range map[string][]string{"one": {dir}, "two": {dir, "/more"}, "three": {"/more", dir, "/bare"}} {
		t.Run(name, func(t *testing.T) { crashAnywhere(t, dirs) })
	}
}

// scattered puts partitions into some of the directories dir, /more, of the same node, and /bare, which does not say whose it
// is. One partition in dir does not tell its topic's id.
func scattered(t *testing.T, dirs []string) *vfs.Mem {
	mem := zooKeeper(t, "first-0", "compacted-0", "__consumer_offsets-0")
	if err := errors.Join(mem.Remove(filepath.Join(dir, "first-0", "partition.metadata")), mem.SyncDir(filepath.Join(dir, "first-0"))); err != nil {
		t.Fatal(err)
	}
	for at, partition := range map[string]string{"/more": "compacted-0", "/bare": "__consumer_offsets-0"} {
		if !slices.Contains(dirs, at) {
			continue
		}
		testarchive.Put(t, mem, filepath.Join(at, ".keep"), nil)
		if at == "/more" {
			testarchive.Put(t, mem, filepath.Join(at, checkpoint.MetaPropertiesFile), []byte("version=0\nbroker.id=0\ncluster.id=OSimxJx3Q4WXRNmAOLtZzQ\n"))
		}
		err := errors.Join(mem.Rename(filepath.Join(dir, partition), filepath.Join(at, partition)), mem.SyncDir(dir), mem.SyncDir(at))
		if err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

func crashAnywhere(t *testing.T, dirs []string) {
	mem := scattered(t, dirs)
	before := filesIn(t, mem, dirs)
	type left struct {
		op  vfs.Op
		mem *vfs.Mem
	}
	var images []left
	fault := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind.Changes() || op.Kind == vfs.OpLock {
			images = append(images, left{op, mem.Crash()})
			for seed := range longtest.Pick(uint64(1), 8) {
				images = append(images, left{op, mem.CrashKeeping(seed + uint64(op.N)*100)})
			}
		}
		return nil
	})
	o := options(fault, dirs...)
	o.MetadataDir = dir
	if err := plan(t, o).Apply(); err != nil {
		t.Fatal(err)
	}
	images = append(images, left{mem: mem.Crash()})
	finished, opened := 0, 0
	for i, image := range images {
		if i%longtest.Pick(3, 1) != 0 && i+1 < len(images) {
			continue
		}
		switch survives(t, image.mem, dirs, before) {
		case 1:
			opened++
		case 2:
			finished++
		}
		if t.Failed() {
			t.Fatalf("after a crash before %v (image %d of %d)", image.op, i, len(images))
		}
	}
	if finished == 0 || finished == len(images) || (opened == 0) != (len(dirs) == 1) {
		t.Errorf("%d of %d are finished, %d are opened", finished, len(images), opened)
	}
	t.Logf("%d images: %d finished, %d opened", len(images), finished, opened)
}

// metadataFirst is dirs with dir, which has the metadata, at the beginning.
func metadataFirst(dirs []string) []string {
	return append([]string{dir}, slices.DeleteFunc(slices.Clone(dirs), func(d string) bool { return d == dir })...)
}

func filesIn(t *testing.T, fsys vfs.FS, dirs []string) map[string]string {
	out := map[string]string{}
	for _, d := range dirs {
		maps.Copy(out, files(t, fsys, d))
	}
	return out
}

// survives checks one image. 0: the adoption finishes it; 1: it is opened as it is, and that finishes it; 2: it was finished.
func survives(t *testing.T, mem *vfs.Mem, dirs []string, before map[string]string) int {
	unchanged(t, before, filesIn(t, mem, dirs), dirs)
	meta, err := checkpoint.ReadMetaProperties(mem, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	if err != nil {
		t.Fatal(err)
	}
	o := options(mem, dirs...)
	o.MetadataDir = dir
	p, err := Make(context.Background(), o)
	if meta.Version == 1 {
		if !errors.Is(err, ErrHasMetadata) {
			t.Errorf("finished, but for %v", err)
		}
		old := versions(t, mem, dirs)[0]
		opens(t, mem, dirs)
		adopttest.Single(t, mem, metadataFirst(dirs)...)
		return 2 - old
	}
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		t.Errorf("it cannot be finished: %v", err)
		return 0
	}
	if v := versions(t, mem, dirs); v[0] > 0 {
		t.Errorf("%d directories have stayed of version 0", v[0])
	}
	adopttest.Single(t, mem, metadataFirst(dirs)...)
	opens(t, mem, dirs)
	for path := range filesIn(t, mem, dirs) {
		if strings.Contains(path, stagePrefix) || strings.HasSuffix(path, unfinished) {
			t.Errorf("%s was left", path)
		}
	}
	return 0
}

// unchanged checks that nothing has gone or changed but meta.properties, of which a broker of ZooKeeper's time can say that
// it is its own until that of the metadata directory is of version 1; and that nothing was left that brokers mind.
func unchanged(t *testing.T, before, now map[string]string, dirs []string) {
	was := strings.Contains(now[filepath.Join(dir, checkpoint.MetaPropertiesFile)], "version=0")
	for path, text := range before {
		switch {
		case filepath.Base(path) != checkpoint.MetaPropertiesFile:
			if now[path] != text {
				t.Errorf("%s has changed", path)
			}
		case was && (!strings.Contains(now[path], "version=0") || !strings.Contains(now[path], "broker.id=0")):
			t.Errorf("%s is %q before it is time", path, now[path])
		}
	}
	for path := range now {
		root := dirs[slices.IndexFunc(dirs, func(d string) bool { return strings.HasPrefix(path, d+"/") })]
		name, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
		_, was := before[path]
		known := was || name == metadataName || isStage(name) || strings.HasSuffix(path, ".tmp") || name == lockFile ||
			filepath.Base(path) == checkpoint.PartitionMetadataFile || name == checkpoint.MetaPropertiesFile
		if !known {
			t.Errorf("%s was left", path)
		}
	}
}

// versions counts the directories by the version of their meta.properties.
func versions(t *testing.T, fsys vfs.FS, dirs []string) (out [2]int) {
	for _, d := range dirs {
		meta, err := checkpoint.ReadMetaProperties(fsys, filepath.Join(d, checkpoint.MetaPropertiesFile))
		if err != nil {
			t.Fatal(err)
		}
		out[min(meta.Version, 1)]++
	}
	return out
}

// opens lets the rooms of a broker open directories, which makes all of them those of a KRaft node.
func opens(t *testing.T, fsys vfs.FS, dirs []string) {
	t.Helper()
	m, err := logdir.Open(logdir.Options{FS: fsys, Dirs: dirs, MetadataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	err = m.Load(t.Context(), func(record.TopicPartition, record.UUID) (storage.Config, bool) {
		loaded++
		return storage.DefaultConfig(), true
	})
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	if v := versions(t, fsys, dirs); v[0] > 0 || loaded != 3 {
		t.Errorf("%d directories are of version 0 still, %d partitions were loaded", v[0], loaded)
	}
}
