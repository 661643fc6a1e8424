package fromlogs

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// TestACrashAtAnyOperation is FLG-2: what a power failure leaves is still the directory it was, with remains that
// brokers remove, or a finished one; and the adoption finishes it.
func TestACrashAtAnyOperation(t *testing.T) {
	mem := zooKeeper(t, "first-0", "compacted-0", "__consumer_offsets-0")
	if err := mem.Remove(filepath.Join(dir, "first-0", "partition.metadata")); err != nil {
		t.Fatal(err)
	}
	if err := mem.SyncDir(filepath.Join(dir, "first-0")); err != nil {
		t.Fatal(err)
	}
	before := files(t, mem, dir)
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
	if err := plan(t, options(fault, dir)).Apply(); err != nil {
		t.Fatal(err)
	}
	images = append(images, left{mem: mem.Crash()})
	finished := 0
	for i, image := range images {
		if i%longtest.Pick(3, 1) != 0 && i+1 < len(images) {
			continue
		}
		if survives(t, image.mem, before) {
			finished++
		}
		if t.Failed() {
			t.Fatalf("after a crash before %v (image %d of %d)", image.op, i, len(images))
		}
	}
	if finished == 0 || finished == len(images) {
		t.Errorf("%d of %d are finished", finished, len(images))
	}
}

// survives checks one image; true: it was finished already.
func survives(t *testing.T, mem *vfs.Mem, before map[string]string) bool {
	now := files(t, mem, dir)
	for path, text := range before {
		if now[path] != text && filepath.Base(path) != checkpoint.MetaPropertiesFile {
			t.Errorf("%s has changed", path)
		}
	}
	meta, err := checkpoint.ReadMetaProperties(mem, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	if err != nil {
		t.Fatal(err)
	}
	for path := range now {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
		_, was := before[path]
		known := was || name == metadataName || isStage(name) || strings.HasSuffix(path, ".tmp") || name == lockFile ||
			filepath.Base(path) == checkpoint.PartitionMetadataFile
		if !known {
			t.Errorf("%s was left", path)
		}
	}
	p, err := Make(context.Background(), options(mem, dir))
	switch {
	case meta.Version == 1 && errors.Is(err, ErrHasMetadata):
		served(t, mem)
		return true
	case err != nil:
		t.Errorf("it cannot be finished: %v", err)
		return false
	}
	if err := p.Apply(); err != nil {
		t.Errorf("it cannot be finished: %v", err)
		return false
	}
	served(t, mem)
	for path := range files(t, mem, dir) {
		if strings.Contains(path, stagePrefix) || strings.HasSuffix(path, unfinished) {
			t.Errorf("%s was left", path)
		}
	}
	return false
}
