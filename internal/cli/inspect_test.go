package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa"
)

// offline runs a command that needs no broker.
func offline(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := Main(t.Context(), args, strings.NewReader(""), &out, &errs); got != status {
		t.Fatalf("samsa %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, status, &out, &errs)
	}
	return out.String(), errs.String()
}

// with runs a broker on a directory as long as f does.
func with(t *testing.T, dir string, f func(s shell)) {
	t.Helper()
	withDirs(t, []string{dir}, f)
}

func withDirs(t *testing.T, dirs []string, f func(s shell)) {
	t.Helper()
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: dirs, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	}()
	f(shell{t, b.Addr()})
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

// The settings of a topic come from the metadata log beside its logs, those of the broker from its properties, and flags win.
func TestExplainKnowsTheSettings(t *testing.T) {
	dir := t.TempDir()
	with(t, dir, func(s shell) {
		s.ok("", "topics", "create", "kept", "--partitions", "3", "--config", "retention.bytes=5000", "--config", "segment.bytes=1048576")
		s.ok("", "topics", "create", "latest", "--config", "cleanup.policy=compact", "--config", "max.compaction.lag.ms=60000")
	})
	out, _ := offline(t, exitOK, "explain", "retention", "kept", "-d", dir)
	contains(t, out, "settings of the metadata log: cleanup.policy=delete retention.ms=604800000 retention.bytes=5000 segment.bytes=1048576", "worst case: 1.0 MiB for this partition, 3.0 MiB for the 3 of the topic")
	out, _ = offline(t, exitOK, "explain", "retention", "kept-1", "-d", dir, "--retention-ms", "1000", "--policy", "compact,delete")
	contains(t, out, "cleanup.policy=compact,delete retention.ms=1000 retention.bytes=5000")
	out, _ = offline(t, exitOK, "explain", "compaction", "latest", "-d", dir)
	contains(t, out, "cleanup.policy=compact retention.ms=604800000", "max.compaction.lag.ms=60000")

	properties := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(properties, []byte("log.retention.hours=1\nlog.segment.bytes=2097152\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ = offline(t, exitOK, "explain", "retention", "kept", "-d", dir, "--config", properties)
	contains(t, out, "settings of the metadata log and server.properties", "retention.ms=3600000 retention.bytes=5000 segment.bytes=1048576")
	out, _ = offline(t, exitOK, "explain", "retention", "kept", "-d", dir, "--metadata", t.TempDir())
	contains(t, out, "settings Kafka's defaults, since there is no metadata log in ", "retention.bytes=-1")
	out, _ = offline(t, exitOK, "explain", "retention", "kept-0", "-d", dir, "--json")
	contains(t, out, `"source": "of the metadata log"`, `"retentionBytes": 5000`)
	offline(t, exitUsage, "explain", "retention", "kept", "-d", dir, "--policy", "keep")
}

// A partition that lost its topic id, and that a broker has set aside for that, comes back with all records; undo puts it aside
// again.
func TestRepairBringsStrayBack(t *testing.T) {
	dir := t.TempDir()
	with(t, dir, func(s shell) {
		s.ok("", "topics", "create", "t")
		s.ok("a\nb\nc\n", "produce", "t")
	})
	if err := os.Remove(filepath.Join(dir, "t-0", "partition.metadata")); err != nil {
		t.Fatal(err)
	}
	with(t, dir, func(s shell) { s.equal(s.ok("", "consume", "t", "--to", "end"), "") }) // the broker sets it aside and begins an empty log
	strays, err := filepath.Glob(filepath.Join(dir, "t-0.*-stray"))
	if err != nil || len(strays) != 1 {
		t.Fatalf("%v %v", strays, err)
	}
	// Without an id the name counts only where nothing has its place.
	out, _ := offline(t, exitOK, "repair", dir)
	contains(t, out, "warning: "+strays[0]+": stray-partition", "compare them with samsa dump")
	if err := os.RemoveAll(filepath.Join(dir, "t-0")); err != nil {
		t.Fatal(err)
	}
	out, errs := offline(t, exitOK, "repair", dir)
	contains(t, out, "replace "+strays[0]+"/partition.metadata: the topic id is ", "rename "+strays[0]+": it was set aside")
	contains(t, errs, "2 actions planned; nothing was changed")
	_, errs = offline(t, exitOK, "repair", dir, "--yes")
	journal := strings.TrimSpace(errs[strings.LastIndex(errs, " "):])
	with(t, dir, func(s shell) { s.equal(s.ok("", "consume", "t", "--to", "end"), "a\nb\nc\n") })
	out, _ = offline(t, exitOK, "repair", "--undo", journal)
	contains(t, out, "taken back: ")
	if again, _ := filepath.Glob(filepath.Join(dir, "t-0*")); len(again) != 1 || again[0] != strays[0] {
		t.Errorf("after undo: %v", again)
	}
}

func TestRepairCommandRefuses(t *testing.T) {
	dir := t.TempDir()
	with(t, dir, func(shell) {
		_, errs := offline(t, exitFailure, "repair", dir, "--yes")
		contains(t, errs, "in use", "has to be stopped first")
	})
	for _, args := range [][]string{{"--free", "1G"}, {"--aside", dir}, {"--free", "much", "--aside", dir}, {"--yes", "--dry-run"}} {
		offline(t, exitUsage, append([]string{"repair", dir}, args...)...)
	}
	_, errs := offline(t, exitFailure, "repair", dir, "--free", "1P", "--aside", t.TempDir())
	contains(t, errs, "same file system")
	out, errs := offline(t, exitOK, "repair", dir)
	if contains(t, errs, "Nothing to repair."); out != "" {
		t.Error(out)
	}
}

// A node's directories that have lost their meta.properties, one after the other and both, get them back: from each other, from
// the metadata log, and from a person who knows the cluster id. The broker then serves all that it did.
func TestRepairOfMetaProperties(t *testing.T) {
	root := t.TempDir()
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	both := a + "," + b
	dirs := []string{a, b}
	withDirs(t, dirs, func(s shell) {
		s.ok("", "topics", "create", "t", "--partitions", "4")
		s.ok("k1:one\nk2:two\nk3:three\nk4:four\nk5:five\n", "produce", "t", "--key-separator", ":", "--quiet")
	})
	path := func(dir string) string { return filepath.Join(dir, "meta.properties") }
	lines := func(dir string) string { // without the date
		text, err := os.ReadFile(path(dir))
		if err != nil {
			t.Fatal(err)
		}
		all := strings.SplitN(string(text), "\n", 3)
		return all[2]
	}
	want := map[string]string{a: lines(a), b: lines(b)}
	_, cluster, _ := strings.Cut(want[a], "cluster.id=")
	cluster = strings.TrimSpace(cluster)
	for _, c := range []struct {
		name    string
		lost    []string
		repairs [][]string
	}{
		{"the one with the metadata log", []string{a}, [][]string{{a, "--log-dirs", both}}},
		{"the other", []string{b}, [][]string{{b, "--metadata", a}}},
		{"both", dirs, [][]string{{a, "--cluster-id", cluster}, {b, "--log-dirs", both}}},
	} {
		for _, dir := range c.lost {
			if err := os.Remove(path(dir)); err != nil {
				t.Fatal(err)
			}
			out, _ := offline(t, exitFindings, "verify", dir)
			contains(t, out, "meta-properties")
			if out, errs := offline(t, exitOK, "repair", dir, "--yes"); !strings.Contains(out, "It cannot be written again") || !strings.Contains(errs, "Nothing that could be done here") {
				t.Errorf("%s\n%s", out, errs)
			}
		}
		for _, args := range c.repairs {
			offline(t, exitOK, append([]string{"repair", "--yes"}, args...)...)
		}
		for _, dir := range dirs {
			if got := lines(dir); got != want[dir] {
				t.Errorf("%s: %s has\n%s, had\n%s", c.name, dir, got, want[dir])
			}
			offline(t, exitOK, "verify", dir)
		}
	}
	withDirs(t, dirs, func(s shell) {
		contains(t, s.ok("", "consume", "t", "--to", "end"), "one", "two", "three", "four", "five")
	})
}
