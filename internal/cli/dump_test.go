package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
)

// dumpFile writes a segment of one batch and returns its path.
func dumpFile(t *testing.T) string {
	t.Helper()
	b := record.NewBuilder(record.DefaultBuilderOptions())
	b.Append(1700000000000, []byte("k"), []byte("v"), nil)
	path := filepath.Join(t.TempDir(), "00000000000000000000.log")
	if err := os.WriteFile(path, b.Build(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func runDump(args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	status = Main(context.Background(), append([]string{"dump"}, args...), strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestDumpCommand(t *testing.T) {
	path := dumpFile(t)
	batch := "Log starting offset: 0\nbaseOffset: 0 lastOffset: 0 count: 1 "
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{path}, batch},
		{[]string{"--files", path}, batch},
		{[]string{"--files", path + "," + path, path, "--deep-iteration"}, "| offset: 0 CreateTime: 1700000000000 keySize: 1 valueSize: 1 sequence: -1 headerKeys: []\n"},
		{[]string{path, "--print-data-log"}, "headerKeys: [] key: k payload: v\n"},
		{[]string{path, "--print-data-log", "--key-decoder-class", "org.apache.kafka.tools.api.StringDecoder"}, "headerKeys: [] key: k payload: v\n"},
		{[]string{path, "--print-data-log", "--skip-record-metadata"}, "\n| key: k payload: v\n"},
		{[]string{path, "--value-decoder-class", "DefaultDecoder"}, "headerKeys: [] key: k payload: 76\n"},
		{[]string{path, "--key-decoder-class=org.apache.kafka.tools.api.LongDecoder"}, "key: Error at offset 0, skipping. 1 bytes are too few for the number. payload: v\n"},
		{[]string{path, "--cluster-metadata-decoder"}, "headerKeys: [] payload: Error at 0, skipping. "},
		{[]string{path, "--max-bytes", "10"}, "Log starting offset: 0\n"},
		{[]string{path, "--json"}, `{"kind":"batch","position":0,`},
	} {
		status, out, errs := runDump(c.args...)
		if status != exitOK || !strings.Contains(out, c.want) || errs != "" {
			t.Errorf("%v: status %d\n%s%s", c.args, status, out, errs)
		}
	}
	if _, out, _ := runDump("--files", path+","+path, path); strings.Count(out, "Dumping "+path) != 3 {
		t.Errorf("three times the same file:\n%s", out)
	}
}

func TestDumpCommandRefuses(t *testing.T) {
	path := dumpFile(t)
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, exitUsage, "which files are to be dumped?"},
		{[]string{path, "--max-bytes=-1"}, exitUsage, "--max-bytes -1 is negative"},
		{[]string{path, "--max-message-size=-1"}, exitUsage, "--max-message-size -1 is negative"},
		{[]string{path, "--value-decoder-class=com.example.Avro"}, exitUsage, `"com.example.Avro" cannot be loaded`},
		{[]string{path + "x.log"}, exitFailure, "the dump is incomplete: 1 of 1 files"},
	} {
		status, _, errs := runDump(c.args...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d, %s", c.args, status, errs)
		}
	}
}
