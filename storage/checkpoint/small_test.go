package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/vfs"
)

func TestPartitionMetadata(t *testing.T) {
	topic := id(t, "_j6rm_xGTGWZBeaBkeVuAQ")
	m := vfs.NewMem()
	if err := WritePartitionMetadata(m, "/p", topic); err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, m, "/p"), "version: 0\ntopic_id: _j6rm_xGTGWZBeaBkeVuAQ"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{
		get(t, m, "/p"), "version: 0\r\ntopic_id: _j6rm_xGTGWZBeaBkeVuAQ\r\n", "version:  7\ntopic_id:\t_j6rm_xGTGWZBeaBkeVuAQ==\nmore: 1\n",
	} {
		put(t, m, "/q", text)
		if got, err := ReadPartitionMetadata(m, "/q"); err != nil || got != topic {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "version: 0", "version: 0\n", "version: -1\ntopic_id: _j6rm_xGTGWZBeaBkeVuAQ", "version: x\ntopic_id: _j6rm_xGTGWZBeaBkeVuAQ",
		"topic_id: _j6rm_xGTGWZBeaBkeVuAQ\nversion: 0", "version:0\ntopic_id:_j6rm_xGTGWZBeaBkeVuAQ", "version: 0\ntopic_id: ",
		"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "version: 0\ntopic_id: short", "\x00\x00\x00",
	} {
		put(t, m, "/q", text)
		if got, err := ReadPartitionMetadata(m, "/q"); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	if _, err := ReadPartitionMetadata(m, "/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestCleanShutdown(t *testing.T) {
	m := vfs.NewMem()
	if epoch, clean, err := ReadCleanShutdown(m, "/.kafka_cleanshutdown"); clean || err != nil || epoch != UnknownBrokerEpoch {
		t.Errorf("missing: %d %v %v", epoch, clean, err)
	}
	if err := WriteCleanShutdown(m, "/.kafka_cleanshutdown", 215); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("testdata/clean/.kafka_cleanshutdown")
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, m, "/.kafka_cleanshutdown"); got != string(theirs) {
		t.Errorf("%q, Kafka writes %q", got, theirs)
	}
	for text, want := range map[string]int64{
		`{"version":0,"brokerEpoch":215}`: 215, `{"brokerEpoch":-1,"version":3,"more":[1]}`: -1,
		"": -1, "{}": -1, `{"version":0}`: -1, "\x00\x00": -1, `{"version":0,"brokerEpoch":"x"}`: -1,
	} {
		put(t, m, "/m", text)
		if epoch, clean, err := ReadCleanShutdown(m, "/m"); !clean || err != nil || epoch != want {
			t.Errorf("%q: %d %v %v, want %d", text, epoch, clean, err, want)
		}
	}
}

// TestR08MarkerIsDurable: a marker that was removed must not be back after a power failure, one that was written must.
func TestR08MarkerIsDurable(t *testing.T) {
	m := vfs.NewMem()
	if err := WriteCleanShutdown(m, "/.kafka_cleanshutdown", 7); err != nil {
		t.Fatal(err)
	}
	m = m.Crash()
	if epoch, clean, _ := ReadCleanShutdown(m, "/.kafka_cleanshutdown"); !clean || epoch != 7 {
		t.Fatalf("after writing and a crash: %d %v", epoch, clean)
	}
	if err := errors.Join(RemoveCleanShutdown(m, "/.kafka_cleanshutdown"), RemoveCleanShutdown(m, "/.kafka_cleanshutdown")); err != nil {
		t.Fatal(err)
	}
	if _, clean, _ := ReadCleanShutdown(m.Crash(), "/.kafka_cleanshutdown"); clean {
		t.Error("after removing and a crash the marker is back")
	}
}

func TestReadAllBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil { // sparse
		t.Fatal(err)
	}
	if _, err := ReadOffsets(vfs.NewOS(), path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a file of %d bytes: %v", maxFile+1, err)
	}
}
