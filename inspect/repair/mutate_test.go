package repair

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/vfs"
)

// mutation is one damage to one file.
type mutation struct {
	path string
	kind string
	at   int
	n    int
}

func (m mutation) String() string {
	return fmt.Sprintf("%s %s at %d, %d bytes", m.kind, m.path, m.at, m.n)
}

// mutate damages b.
func (m mutation) mutate(b []byte) []byte {
	b = slices.Clone(b)
	switch m.kind {
	case "flip":
		b[m.at] ^= 1 << (m.n % 8)
	case "cut":
		b = b[:m.at]
	case "zero":
		clear(b[m.at : m.at+m.n])
	case "swap":
		half := m.n / 2
		x := slices.Clone(b[m.at : m.at+half])
		copy(b[m.at:], b[m.at+half:m.at+2*half])
		copy(b[m.at+half:], x)
	}
	return b
}

// draw picks a file by kind first, so that small ones get their share, and a damage to it.
func draw(r *rand.Rand, files map[string][]string, whole map[string]string) mutation {
	kinds := slices.Sorted(maps.Keys(files))
	list := files[kinds[r.IntN(len(kinds))]]
	m := mutation{path: list[r.IntN(len(list))], kind: []string{"flip", "flip", "cut", "zero", "swap"}[r.IntN(5)]}
	size := len(whole[m.path])
	m.at, m.n = r.IntN(size), 1+r.IntN(64)
	if m.kind == "zero" || m.kind == "swap" {
		m.n = min(1+r.IntN(200), size-m.at)
	}
	return m
}

// TestMutations damages copies of a directory at random places. verify finds each damage that matters; repair leaves a
// directory that verify finds nothing more in than what is missing; no whole batch is lost; undo restores every byte.
func TestMutations(t *testing.T) {
	base := whole(t)
	before := testdir.Tree(t, base, "/data")
	if all := findings(t, base, "/data"); len(all) > 0 {
		t.Fatalf("the undamaged directory: %v", all)
	}
	files := map[string][]string{}
	for path, b := range before {
		kind := filepath.Ext(path)
		if kind == "" || strings.Contains(filepath.Base(path), "checkpoint") {
			kind = filepath.Base(path)
		}
		if len(b) > 0 && kind != ".properties" && !strings.HasSuffix(path, ".kafka_cleanshutdown") && kind != ".lock" {
			files[kind] = append(files[kind], path)
		}
	}
	for _, list := range files {
		slices.Sort(list)
	}
	seed := uint64(4)
	n := longtest.Pick(100, 6000)
	r := rand.New(rand.NewPCG(seed, 0))
	found, kinds := 0, map[string]int{}
	for range n {
		m := draw(r, files, before)
		damaged := m.mutate([]byte(before[m.path]))
		if string(damaged) == before[m.path] {
			continue
		}
		fsys := base.Crash() // a copy
		testdir.Put(t, fsys, m.path, damaged)
		all := findings(t, fsys, "/data")
		if len(all) == 0 {
			if why := matters(m, before[m.path], string(damaged), logOf(before, m.path)); why != "" {
				t.Errorf("%v is not found, but %s", m, why)
			}
			continue
		}
		found++
		if ext := filepath.Ext(m.path); ext == ".index" || ext == ".timeindex" || ext == ".txnindex" {
			for _, f := range all {
				if f.File != m.path {
					t.Errorf("%v: also %v", m, f)
				}
			}
		}
		kinds[filepath.Ext(m.path)+" "+m.kind]++
		repairs(t, fsys, m, before[m.path], damaged)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d damages were found, seed %d: %v", found, n, seed, kinds)
}

// repairs repairs the directory, looks at it, and takes the repair back.
func repairs(t *testing.T, fsys *vfs.Mem, m mutation, before string, damaged []byte) {
	t.Helper()
	start := testdir.Tree(t, fsys, "/data")
	result, err := Run(context.Background(), options(fsys), nil)
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	for _, f := range findings(t, fsys, "/data") {
		if !slices.ContainsFunc(result.Plan.Findings, func(o verifyFinding) bool { return o.Rule == f.Rule }) && f.Rule != "offset-gap" {
			t.Errorf("%v: still %v\nafter %v", m, f, result.Done)
		}
	}
	if filepath.Ext(m.path) == ".log" {
		after, err := readFile(fsys, m.path)
		if err != nil {
			t.Fatal(err)
		}
		have, kept := batches(after), 0
		for b, n := range batches([]byte(before)) {
			if strings.Contains(string(damaged), b) && have[b] < n {
				t.Errorf("%v: a whole batch of %d bytes is gone", m, len(b))
			}
			kept++
		}
	}
	if result.Journal == "" {
		return
	}
	if _, err := Undo(context.Background(), fsys, result.Journal); err != nil {
		t.Fatalf("%v: undo: %v", m, err)
	}
	testdir.Same(t, testdir.Tree(t, fsys, "/data"), start)
}

// logOf is the `.log` that belongs to a file.
func logOf(files map[string]string, path string) string {
	if filepath.Base(path) == "leader-epoch-checkpoint" {
		var b strings.Builder
		for _, p := range slices.Sorted(maps.Keys(files)) {
			if filepath.Dir(p) == filepath.Dir(path) && filepath.Ext(p) == ".log" {
				b.WriteString(files[p])
			}
		}
		return b.String()
	}
	stem, _, _ := strings.Cut(filepath.Base(path), ".")
	return files[filepath.Join(filepath.Dir(path), stem+".log")]
}
