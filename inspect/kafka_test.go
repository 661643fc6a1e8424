package inspect

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
)

func gunzip(t testing.TB, name string) io.Reader {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// block is what Kafka's tool printed for one file; the lines of user topics are cut at 400 characters.
type block struct {
	path  string
	lines []string
}

const cutAt = 400

func blocks(t testing.TB, name string) []block {
	t.Helper()
	b, err := io.ReadAll(gunzip(t, name+".txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	for _, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if path, ok := strings.CutPrefix(line, "Dumping "); ok {
			all = append(all, block{path: path})
		}
		all[len(all)-1].lines = append(all[len(all)-1].lines, line)
	}
	return all
}

// asDumped are the options with which the expectations were made.
func asDumped(path string) DumpOptions {
	o := DefaultDumpOptions()
	o.PrintDataLog = true
	switch topic, _, _ := strings.Cut(path, "/"); strings.TrimRight(topic, "-0123456789") {
	case "__consumer_offsets":
		o.Decoder = DecodeOffsets
	case "__transaction_state":
		o.Decoder = DecodeTransactions
	case "__share_group_state":
		o.Decoder = DecodeShareState
	case "__cluster_metadata":
		o.Decoder = DecodeMetadata
	}
	if filepath.Ext(path) == ".checkpoint" {
		o.Decoder = DecodeMetadata
	}
	return o
}

// TestDumpEqualsKafka holds every line against what DumpLogSegments of Apache Kafka 4.4.0 printed: directories of
// 4.4.0 (formatted, killed, cleanly stopped, with share state) and of 3.9.1 (formatted, cleanly stopped, with KRaft and with
// ZooKeeper), message sets of magic 0 and 1, and old topics that a 3.9.1 broker stored with indexes.
func TestDumpEqualsKafka(t *testing.T) {
	for _, name := range []string{"kafka-4.4.0-formatted", "kafka-4.4.0-killed", "kafka-4.4.0-clean", "old-formats", "kafka-3.9.1-old-topics",
		"kafka-3.9.1-formatted", "kafka-3.9.1-clean", "kafka-3.9.1-zookeeper"} {
		t.Run(name, func(t *testing.T) {
			fs := testdir.Unpack(t, filepath.Join("testdata", name+".tar.gz"), "")
			types := map[string]int{}
			for _, want := range blocks(t, name) {
				o := asDumped(want.path)
				o.FS, o.Files = fs, []string{want.path}
				var out, errs bytes.Buffer
				if err := Dump(&out, &errs, o); err != nil {
					t.Errorf("%s: %v\n%s", want.path, err, &errs)
				}
				compareLines(t, want, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"))
				types[filepath.Ext(want.path)]++
			}
			t.Log(types)
		})
	}
}

func compareLines(t *testing.T, want block, got []string) {
	t.Helper()
	for i, line := range want.lines {
		if i >= len(got) {
			t.Errorf("%s: %d lines, want %d; the next is\n%s", want.path, len(got), len(want.lines), line)
			return
		}
		have := got[i]
		if len(line) == cutAt && len(have) > cutAt {
			have = have[:cutAt]
		}
		if have != line {
			t.Errorf("%s line %d:\n got %s\nwant %s", want.path, i+1, have, line)
			return
		}
	}
	if len(got) > len(want.lines) {
		t.Errorf("%s: %d lines, want %d; one too many is\n%s", want.path, len(got), len(want.lines), got[len(want.lines)])
	}
}
