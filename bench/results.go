package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
	pages "github.com/samsalog/samsa/bench/report"
	"github.com/samsalog/samsa/bench/rows"
)

func readResults(name string) (*figure.Table, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return figure.Read(f)
}

// report writes the page and its plots into the directory docs. What people have to say about the groups is in
// bench/notes.md there.
func report(results, docs string) error {
	table, err := readResults(results)
	if err != nil {
		return err
	}
	p := pages.Page{Table: table, Charts: rows.Charts()}
	for _, r := range rows.All() {
		for _, m := range r.Marks {
			// Marks of rows that only run when everything is asked for are not missed by leaving them out.
			if !r.Full || len(table.Names(r.Name)) > 0 {
				p.Marks = append(p.Marks, m)
			}
		}
	}
	notes, err := os.ReadFile(filepath.Join(docs, "bench", "notes.md"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	p.Notes = pages.ParseNotes(string(notes))
	if err := os.MkdirAll(filepath.Join(docs, "bench"), 0o755); err != nil {
		return err
	}
	if err := write(filepath.Join(docs, "bench.md"), p.Write); err != nil {
		return err
	}
	for _, c := range p.Charts {
		if !p.Has(c) {
			continue
		}
		if err := write(filepath.Join(docs, "bench", c.File()), func(w io.Writer) error { return p.WriteChart(w, c) }); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, content func(io.Writer) error) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return content(f)
}

// text prints the figures of a peer for benchstat.
func text(results, of string, w io.Writer) error {
	table, err := readResults(results)
	if err != nil {
		return err
	}
	return table.WriteGoBenchmarks(w, of)
}

// benchstat writes the figures of both revisions beside the results and prints how they compare.
func benchstat(ctx context.Context, root, results string) error {
	results, err := filepath.Abs(results)
	if err != nil {
		return err
	}
	var files []string
	for _, n := range []peer.Name{peer.Before, peer.Samsa} {
		name := fmt.Sprintf("%s.%s.txt", results, map[peer.Name]string{peer.Before: "before", peer.Samsa: "after"}[n])
		if err := write(name, func(w io.Writer) error { return text(results, string(n), w) }); err != nil {
			return err
		}
		files = append(files, name)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"tool", "benchstat"}, files...)...)
	cmd.Dir = filepath.Join(root, "bench") // whose module has the tool
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("benchstat %s %s: %w", files[0], files[1], err)
	}
	return nil
}
