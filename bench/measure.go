package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/proc"
	"github.com/samsalog/samsa/bench/row"
	"github.com/samsalog/samsa/bench/rows"
	"github.com/samsalog/samsa/bench/run"
)

// measure is the benchmark.
func measure(ctx context.Context, args []string) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	chosen := run.Options{Rounds: o.rounds, Only: o.only, Peers: o.peers, All: o.all, Compare: o.against != "",
		Standing: rows.CleanerSettings(), Within: o.within, Perf: o.perf, Progress: os.Stderr}
	if o.quick {
		chosen.SlowRounds = quickSlowRounds
	}
	selected := chosen.Selected(rows.All())
	if o.list {
		for _, r := range selected {
			fmt.Println(r.Name, r.Peers)
		}
		return nil
	}
	if len(selected) == 0 {
		return errors.New("no row has such a name; -list prints all")
	}
	if o.dir, err = workplace(o.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	binaries, err := build(ctx, o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	bench := &row.Bench{Self: self, Root: o.root, Dir: o.dir, Scale: o.scale, Rdkafka: o.rdkafka,
		Launcher: &peer.Launcher{Binaries: binaries, Jars: o.jars, Self: self, Settings: o.settings, FirstPort: o.port}}
	results, err := resultsFile(o)
	if err != nil {
		return err
	}
	failed := runRows(ctx, o, chosen, bench, selected, results)
	fmt.Fprintln(os.Stderr, "results:", results)
	if o.docs != "" {
		failed = errors.Join(failed, report(results, o.docs))
	}
	if o.against != "" {
		failed = errors.Join(failed, benchstat(ctx, o.root, results))
	}
	return failed
}

// runRows writes the results of a run to the file named results.
func runRows(ctx context.Context, o options, chosen run.Options, bench *row.Bench, selected []row.Row, results string) (err error) {
	f, err := os.Create(results)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := figure.NewWriter(f)
	if err := out.Run(circumstances(ctx, o)); err != nil {
		return err
	}
	return run.New(chosen, bench, out).Rows(ctx, selected)
}

// workplace makes a new directory below dir.
func workplace(dir string) (string, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	name, err := os.MkdirTemp(dir, "samsa-bench-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(name)
}

func resultsFile(o options) (string, error) {
	switch {
	case o.results != "":
		return o.results, nil
	case o.docs != "":
		return filepath.Join(o.docs, "bench", "results.jsonl"), os.MkdirAll(filepath.Join(o.docs, "bench"), 0o755)
	default:
		f, err := os.CreateTemp("", "samsa-bench-*.jsonl")
		if err != nil {
			return "", err
		}
		return f.Name(), f.Close()
	}
}

// build returns the programs of Samsa, built from the tree and, for a comparison, from another revision of it.
func build(ctx context.Context, o options) (map[peer.Name]string, error) {
	binaries := map[peer.Name]string{peer.Samsa: o.samsa}
	if o.samsa == "" {
		binaries[peer.Samsa] = filepath.Join(o.dir, "samsa")
		if err := compile(ctx, o.root, binaries[peer.Samsa]); err != nil {
			return nil, err
		}
	}
	if o.against == "" {
		return binaries, nil
	}
	tree := filepath.Join(o.dir, "before")
	git := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", o.root}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
		return nil
	}
	if err := git("worktree", "add", "--detach", tree, o.against); err != nil {
		return nil, err
	}
	binaries[peer.Before] = filepath.Join(o.dir, "samsa-before")
	return binaries, errors.Join(compile(ctx, tree, binaries[peer.Before]), git("worktree", "remove", "--force", tree))
}

func compile(ctx context.Context, root, target string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", target, "./cmd/samsa")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build Samsa: %w: %s", err, out)
	}
	return nil
}

// circumstances describes machine and run.
func circumstances(ctx context.Context, o options) figure.Run {
	r := figure.Run{Date: time.Now().UTC().Format(time.DateOnly), System: runtime.GOOS + "/" + runtime.GOARCH, CPU: proc.Processor(), Cores: runtime.NumCPU(),
		Go: runtime.Version(), Revision: "unknown", Rounds: o.rounds, Scale: o.scale, Profile: o.profile()}
	if memory, err := proc.Memory(); err == nil {
		r.MemoryMB = memory >> 20
	}
	if out, err := exec.CommandContext(ctx, "git", "-C", o.root, "rev-parse", "--short", "HEAD").Output(); err == nil {
		r.Revision = strings.TrimSpace(string(out))
	}
	for k, v := range o.settings {
		r.Notes = append(r.Notes, fmt.Sprintf("with %s=%s", k, v))
	}
	return r
}
