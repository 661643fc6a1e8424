package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/adopt"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

// unpacked puts a directory that Apache Kafka left on disk.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	testarchive.Unpack(t, vfs.NewOS(), archive, dir)
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

// TestAdoptListsWhatIsKept: some of each kind, and with --verbose all.
func TestAdoptListsWhatIsKept(t *testing.T) {
	dir := unpacked(t, "../adopt/testdata/kafka-4.4.0-security.tar.zst")
	wants(t, adoptCLI("adopt", dir), exitOK, "SCRAM credentials: 2", "user s: SCRAM-SHA-512, 8192 iterations", "delegation tokens: 4", "DENY User:* from 10.0.0.2: ALL on CLUSTER",
		"SCRAM credentials (2) are kept in the metadata and its snapshots", "by a Kafka that has no authorizer")
	r := &adopt.Report{Metadata: &adopt.Metadata{Kept: []adopt.Kept{{What: "client quotas", Count: 7, Each: strings.Fields("a b c d e f g")}}}}
	for all, want := range map[bool]string{false: "  e\n  … 2 more, with --verbose\n", true: "  e\n  f\n  g\n"} {
		var out strings.Builder
		if err := printAdoption(&out, r, all); err != nil || !strings.Contains(out.String(), "client quotas: 7\n  a\n") || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}
