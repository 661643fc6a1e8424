package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa"
)

// served runs a broker on a directory while do is at work with its address.
func served(t *testing.T, dir string, do func(s shell)) {
	t.Helper()
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	do(shell{t, b.Addr()})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

func adoptCLI(args ...string) result {
	var stdout, stderr bytes.Buffer
	status := Main(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return result{stdout.String(), stderr.String(), status}
}

func wants(t *testing.T, r result, status int, texts ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d: %s%s", r.status, status, r.stdout, r.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("%q is not in\n%s%s", text, r.stdout, r.stderr)
		}
	}
}

func TestAdopt(t *testing.T) {
	root := t.TempDir()
	dir, file := filepath.Join(root, "data"), filepath.Join(root, "before")
	served(t, dir, func(s shell) {
		s.ok("", "topics", "create", "orders", "--config", "retention.ms=1000000")
		s.ok("one\ntwo\n", "produce", "orders", "--quiet")
		wants(t, adoptCLI("adopt", dir), exitOK, "would refuse", "in use")
		wants(t, adoptCLI("adopt", dir, "--save", file), exitFailure, "in use", "Stop the broker first")
	})
	wants(t, adoptCLI("adopt", dir), exitOK, "last written by Samsa 4.4", "clean", "orders", "retention.ms=1000000", "samsa serve would take it")
	var doc struct {
		NodeID int32 `json:"nodeId"`
		Topics []struct{ Name string }
	}
	if r := adoptCLI("adopt", dir, "--json"); json.Unmarshal([]byte(r.stdout), &doc) != nil || doc.NodeID != 1 || len(doc.Topics) != 1 {
		t.Errorf("%+v", r)
	}
	wants(t, adoptCLI("adopt", dir, "--save", file), exitOK, "To go back: samsa adopt --rollback "+file)
	wants(t, adoptCLI("adopt", dir, "--save", file), exitFailure, "there is a savepoint already")
	wants(t, adoptCLI("adopt", "--rollback", file), exitOK, "nothing to do")
	served(t, dir, func(s shell) {
		s.ok("three\n", "produce", "orders", "--quiet")
		s.ok("", "topics", "create", "new")
		wants(t, adoptCLI("adopt", "--rollback", file, "--yes"), exitFailure, "in use")
	})
	wants(t, adoptCLI("adopt", "--rollback", file), exitOK, "orders-0: offsets 2 to 2 are given up (1)", "new-0: did not exist and goes", "Repeat with --yes")
	wants(t, adoptCLI("adopt", "--rollback", file, "--json"), exitOK, `"partition": "new-0"`)
	wants(t, adoptCLI("adopt", "--rollback", file, "--yes"), exitOK, "Done: the directories are as they were")
	served(t, dir, func(s shell) {
		s.equal(s.ok("", "consume", "orders", "--to", "end"), "one\ntwo\n")
	})
}

func TestAdoptFromSettings(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	served(t, dir, func(shell) {})
	properties := filepath.Join(root, "server.properties")
	writeFile(t, properties, "log.dirs = "+filepath.ToSlash(dir)+"\n")
	wants(t, adoptCLI("adopt", "--config", properties), exitOK, "no topics")
	writeFile(t, properties, "node.id=1\n")
	wants(t, adoptCLI("adopt", "--config", properties), exitUsage, "has no log.dirs")
	other := filepath.Join(root, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	wants(t, adoptCLI("adopt", dir, other), exitOK, "would refuse", "there is no meta.properties")
}

func TestAdoptWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	wants(t, adoptCLI("adopt"), exitUsage, "name the log directories")
	wants(t, adoptCLI("adopt", filepath.Join(dir, "nowhere")), exitFailure, "Name the directories")
	wants(t, adoptCLI("adopt", dir, "--save", "x", "--rollback", "y"), exitUsage, "contradict")
	wants(t, adoptCLI("adopt", dir, "--rollback", "y"), exitUsage, "name none with --rollback")
	wants(t, adoptCLI("adopt", dir, "--save", filepath.Join(dir, "in"), "--segments", "half"), exitUsage, "link, copy or none")
	wants(t, adoptCLI("adopt", dir, "--save", filepath.Join(dir, "in")), exitFailure, "inside of the log directory")
	wants(t, adoptCLI("adopt", "--rollback", filepath.Join(dir, "none")), exitFailure, "none")
}
