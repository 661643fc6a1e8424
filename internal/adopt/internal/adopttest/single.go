package adopttest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// Single checks that directories, of which the first has the metadata, are those of a cluster of one node, as a broker does;
// and that each partition has the node as its only replica, in one of the directories, with the topic's id if it is there.
func Single(t testing.TB, fsys vfs.FS, dirs ...string) *metadata.Image {
	t.Helper()
	metas, paths := make([]checkpoint.MetaProperties, len(dirs)), map[record.UUID]string{}
	for i, dir := range dirs {
		var err error
		if metas[i], err = checkpoint.ReadMetaProperties(fsys, filepath.Join(dir, checkpoint.MetaPropertiesFile)); err != nil {
			t.Fatal(err)
		}
		if metas[i].ClusterID != metas[0].ClusterID || metas[i].NodeID != metas[0].NodeID || metas[i].Version != 1 {
			t.Fatalf("%s: %+v beside %+v", dir, metas[i], metas[0])
		}
		paths[metas[i].DirectoryID] = dir
	}
	found, err := metadata.Look(fsys, dirs[0], metas[0].ClusterID)
	if err == nil {
		err = found.Check(metas[0].NodeID, metas[0].DirectoryID)
	}
	if err != nil {
		t.Fatal(err)
	}
	for topic := range found.Image.Topics.All() {
		for n, p := range topic.Partitions {
			node := []int32{metas[0].NodeID}
			if !slices.Equal(p.Replicas, node) || !slices.Equal(p.ISR, node) && !slices.Equal(p.ELR, node) {
				t.Fatalf("%s-%d is %+v", topic.Name, n, p)
			}
			placed(t, fsys, paths, fmt.Sprintf("%s-%d", topic.Name, n), topic.ID, p.Directories)
		}
	}
	return found.Image
}

// placed checks that a partition is where the metadata says, and nowhere else.
func placed(t testing.TB, fsys vfs.FS, paths map[record.UUID]string, name string, topic record.UUID, directories []record.UUID) {
	t.Helper()
	if len(directories) != 1 || paths[directories[0]] == "" && directories[0] != record.UnassignedDirID {
		t.Fatalf("%s is in %v of %v", name, directories, paths)
	}
	for id, path := range paths {
		at := filepath.Join(path, name)
		if _, err := fsys.Stat(at); err != nil {
			continue
		}
		got, err := checkpoint.ReadPartitionMetadata(fsys, filepath.Join(at, checkpoint.PartitionMetadataFile))
		if err != nil || got != topic || id != directories[0] {
			t.Fatalf("%s is in %v, with topic id %v of %v, %v; the metadata says %v", name, at, got, topic, err, directories)
		}
	}
}
