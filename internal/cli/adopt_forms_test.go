package cli

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/samsalog/samsa/internal/testarchive"
)

// unpacked puts a directory that Apache Kafka left on disk.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for h, b := range testarchive.Files(t, archive) {
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAdoptFromLogs: the plan, what goes before it, and that it is carried out.
func TestAdoptFromLogs(t *testing.T) {
	dir := unpacked(t, "../adopt/fromlogs/testdata/zookeeper.tar.zst")
	configs := filepath.Join(t.TempDir(), "configs")
	if err := os.WriteFile(configs, []byte("# settings\nfirst retention.ms=77 segment.bytes=1048576\n\nempty cleanup.policy=compact # as it was\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, adoptCLI("adopt", dir), exitOK, "adopt --from-logs")
	args := []string{"adopt", dir, "--from-logs", "--topic-configs", configs, "--topic-config", "*:max.message.bytes=99", "--partitions", "first=3"}
	wants(t, adoptCLI(args...), exitOK, "retention.ms=77", "max.message.bytes=99", "cleanup.policy=compact", "partitions [1 2] are not here", "Nothing was changed")
	for _, wrong := range [][]string{
		{"--topic-config", "first"}, {"--topic-config", "first:retention.ms"}, {"--topic-config", "first:retention.ms=x"}, {"--topic-config", "first:no.such=1"},
		{"--partitions", "first=0"}, {"--controller", "here"}, {"--solo"},
	} {
		wants(t, adoptCLI(append([]string{"adopt", dir, "--from-logs"}, wrong...)...), exitUsage)
	}
	wants(t, adoptCLI(append(args, "--yes")...), exitOK, "Done")
	wants(t, adoptCLI("adopt", dir), exitOK, "samsa serve would take it")
	wants(t, adoptCLI("adopt", dir, "--from-logs"), exitFailure, "")
}

// TestAdoptSolo: the plan, and that it is carried out.
func TestAdoptSolo(t *testing.T) {
	dir := unpacked(t, "../adopt/solo/testdata/voter.tar.zst")
	wants(t, adoptCLI("adopt", dir, "--solo"), exitOK, "node 2 will be all of it", "two-1", "it begins empty", "removed: away", "min.insync.replicas becomes 1: two", "Nothing was changed")
	wants(t, adoptCLI("adopt", dir, "--solo", "--json"), exitOK, `"whole"`)
	wants(t, adoptCLI("adopt", dir, "--solo", "--yes"), exitOK, "Done")
	wants(t, adoptCLI("adopt", dir), exitOK, "samsa serve would take it")
	wants(t, adoptCLI("adopt", dir, "--solo"), exitFailure, "")
	wants(t, adoptCLI("adopt", unpacked(t, "../adopt/fromlogs/testdata/zookeeper.tar.zst"), "--solo"), exitFailure, "")
}

// TestServeReadOnlyWrongCommandLines: what does not fit together.
func TestServeReadOnlyWrongCommandLines(t *testing.T) {
	wants(t, adoptCLI("serve", "--read-only"), exitUsage)
	wants(t, adoptCLI("serve", "--scratch", "x"), exitUsage)
	wants(t, adoptCLI("serve", "some-directory"), exitUsage)
	wants(t, adoptCLI("serve", "--read-only", filepath.Join(t.TempDir(), "missing"), "--listen", "127.0.0.1:0"), exitFailure, "")
}
