package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/bench/rows"
)

// TestMain lets the test binary be client and server, as the program itself is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "load" || os.Args[1] == "serve") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSmoke measures Samsa and the minimum broker at a tiny scale, in one row of each kind that needs Go alone, and makes
// a page of it.
func TestSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts a broker")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("Samsa is built with the go command")
	}
	docs := t.TempDir()
	if err := os.MkdirAll(filepath.Join(docs, "bench"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "bench", "notes.md"), []byte("## consume\n\nWhat there is to say.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	only := `^(produce/1p/16KiB/idempotent/none|produce/6p/1MiB/idempotent/none|consume/warm/6p|consume/warm/1p/undecoded|latency/1k/s|single/acks=all|fsync/4 producers|start/empty directory)$`
	err := command(context.Background(), []string{"-dir", t.TempDir(), "-docs", docs, "-peers", "samsa,minimum", "-only", only, "-rounds", "2", "-scale", "0.005"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(docs, "bench.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{"| produce/1p/16KiB/idempotent/none | rate, records/s |", "| consume/warm/6p | client CPU, µs/record |", "| latency/1k/s | p99.9, ms |",
		"| fsync/4 producers | rate, records/s |", "| start/empty directory | first record after, ms |", "What there is to say.", "÷ minimum broker"} {
		if !strings.Contains(page, want) {
			t.Errorf("missing %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "failed:") {
		t.Errorf("something failed:\n%s", page)
	}
	if _, err := os.Stat(filepath.Join(docs, "bench", "produce-rate.svg")); err != nil {
		t.Error(err)
	}
	var text1 strings.Builder
	if err := text(filepath.Join(docs, "bench", "results.jsonl"), "samsa", &text1); err != nil || strings.Count(text1.String(), "\nBenchmarkConsume/warm/6p 1 ") != 2 {
		t.Errorf("for benchstat: %v\n%s", err, text1.String())
	}
}

// TestRowsAreWhatTheySay: names are unique, and every mark is about a row and, where it is a ratio, a peer that takes part.
func TestRowsAreWhatTheySay(t *testing.T) {
	peers := map[string]string{}
	for _, r := range rows.All() {
		if peers[r.Name] != "" || r.Run == nil || len(r.Peers) == 0 {
			t.Errorf("row %s", r.Name)
		}
		for _, p := range r.Peers {
			peers[r.Name] += " " + string(p) + " "
		}
	}
	for _, r := range rows.All() {
		for _, m := range r.Marks {
			of := m.Of.Row
			if of == "" {
				of = m.Row
			}
			if m.Row != r.Name || !strings.Contains(peers[m.Row], " "+m.Peer+" ") || m.Of.Peer != "" && !strings.Contains(peers[of], " "+m.Of.Peer+" ") || (m.AtLeast == 0) == (m.AtMost == 0) {
				t.Errorf("mark %+v of row %s", m, r.Name)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	o, err := parseFlags([]string{"-quick", "-only", "^produce", "-peers", "samsa,kafka", "-set", "a=b=c", "-rounds", "3"})
	if err != nil || o.scale != quickScale || o.profile() != "quick" || len(o.peers) != 2 || o.settings["a"] != "b=c" || !o.only.MatchString("produce/1p") {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parseFlags([]string{"-quick", "-scale", "2"}); err != nil || o.scale != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range [][]string{{"-only", "("}, {"-set", "x"}, {"-rounds", "0"}, {"-scale", "-1"}, {"nonsense"}} {
		if _, err := parseFlags(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
