package inspect

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/vfs"
)

// found matches the lines in which something is said to be wrong.
var found = regexp.MustCompile(`(?i)mismatch|invalid|not found|out of order|corrupt|gap|non-consecutive|unexpected`)

// TestI06NoFalseAlarms looks at every file of every directory that Apache Kafka wrote, in each mode in which something could be
// called wrong. The default mode says no more than Kafka's own tool said of that file; the others, which only compare,
// say that nothing is wrong.
func TestI06NoFalseAlarms(t *testing.T) {
	files, lines := 0, 0
	for _, name := range []string{"kafka-4.4.0-formatted", "kafka-4.4.0-killed", "kafka-4.4.0-clean", "old-formats", "kafka-3.9.1-old-topics"} {
		fsys := testdir.Unpack(t, filepath.Join("testdata", name+".tar.gz"), "")
		said := map[string][]string{}
		for _, b := range blocks(t, name) {
			said[b.path] = b.lines
		}
		for _, path := range dumpable(t, fsys) {
			files++
			for mode, change := range map[string]func(*DumpOptions){
				"deep": func(*DumpOptions) {}, "verify": func(o *DumpOptions) { o.VerifyIndexOnly = true },
				"sanity": func(o *DumpOptions) { o.IndexSanityCheck = true },
			} {
				o := DefaultDumpOptions()
				o.FS, o.Files, o.DeepIteration = fsys, []string{path}, true
				change(&o)
				var out, errs bytes.Buffer
				if err := Dump(&out, &errs, o); err != nil {
					t.Errorf("%s %s, %s: %v", name, path, mode, err)
				}
				trueGaps(t, path, errs.String(), strings.Split(out.String(), "\n"))
				for line := range strings.Lines(out.String()) {
					line = strings.TrimSuffix(line, "\n")
					lines++
					if strings.HasPrefix(line, "Dumping ") || strings.HasPrefix(line, "| ") || strings.Contains(line, "isvalid: true") || !found.MatchString(line) {
						continue
					}
					if !slices.Contains(said[path], line) {
						t.Errorf("%s %s, %s: %.200s", name, path, mode, line)
					}
				}
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d files", files)
	}
	t.Logf("%d files, %d lines", files, lines)
}

// recordOffset is how Kafka's tool shows a record's offset.
var recordOffset = regexp.MustCompile(`^\| offset: (\d+) `)

// trueGaps checks that nothing is called wrong but offsets that do not follow each other, as Kafka's tool calls them too: where
// compaction left gaps, and before the first record of every segment but the first, since it begins with -1.
func trueGaps(t *testing.T, path, errs string, dump []string) {
	t.Helper()
	gaps := []string{}
	last := "-1"
	for _, line := range dump {
		if m := recordOffset.FindStringSubmatch(line); m != nil {
			gaps = append(gaps, fmt.Sprintf("  %s is followed by %s", last, m[1]))
			last = m[1]
		}
	}
	for i, line := range strings.Split(strings.TrimSuffix(errs, "\n"), "\n") {
		ok := slices.Contains(gaps, line)
		if i == 0 {
			ok = line == "" || strings.HasPrefix(line, "Non-consecutive offsets in ") && strings.HasSuffix(line, path)
		}
		if !ok {
			t.Errorf("%s: %q", path, line)
		}
	}
}

// dumpable lists the files that the tool knows, below the root.
func dumpable(t *testing.T, fsys vfs.FS) []string {
	t.Helper()
	var all []string
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := fsys.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch ext := filepath.Ext(path); {
			case e.Type()&fs.ModeDir != 0:
				walk(path)
			case slices.Contains([]string{".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint"}, ext):
				all = append(all, path)
			}
		}
	}
	walk(".")
	return all
}
