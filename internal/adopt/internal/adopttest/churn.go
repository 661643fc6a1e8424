package adopttest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// Churn changes a setting of the broker until the metadata log of a directory has rolled, and its first segment has gone
// because a snapshot holds what was in it. Each closing waits for the snapshot that was due.
func Churn(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	meta, err := checkpoint.ReadMetaProperties(fsys, filepath.Join(dir, checkpoint.MetaPropertiesFile))
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(dir, metadata.TopicName+"-0", "00000000000000000000.log")
	for range 20 {
		churn(t, fsys, dir, meta)
		if _, err := fsys.Stat(first); err != nil {
			return
		}
	}
	t.Fatal("the first segment of the metadata log is still there")
}

func churn(t testing.TB, fsys vfs.FS, dir string, meta checkpoint.MetaProperties) {
	t.Helper()
	s, err := metadata.Open(metadata.Options{
		FS: fsys, Handles: vfs.NewHandles(fsys, 10), Dir: dir, NodeID: meta.NodeID, ClusterID: meta.ClusterID, DirectoryID: meta.DirectoryID,
		SegmentBytes: 20_000, Snapshots: metadata.SnapshotPolicy{MaxNewBytes: 30_000, RetentionBytes: 60_000},
		Now: func() time.Time { return time.UnixMilli(1900000000000) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		value := strings.Repeat("x", 2000+i)
		if _, err := s.Append(&stored.ConfigRecord{ResourceType: metadata.BrokerResource, ResourceName: "1", Name: "metric.reporters", Value: &value}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
