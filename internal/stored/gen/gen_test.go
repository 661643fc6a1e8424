package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The files in package stored must be what the generator writes today.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := run("../schemas.json", dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_gen.go"))
	if err != nil || len(files) != len(families)+1 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", filepath.Base(f)))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not current: run go generate ./internal/stored", filepath.Base(f))
		}
	}
}

func TestGoName(t *testing.T) {
	for in, want := range map[string]string{
		"topicId": "TopicID", "id": "ID", "partitionIds": "PartitionIDs", "topicIdPartition": "TopicIDPartition",
		"isr": "ISR", "lastKnownElr": "LastKnownELR", "identity": "Identity", "kRaftVersion": "KRaftVersion",
	} {
		if got := goName(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
