package limits

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	values, err := Measure(dir, 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range values {
		if v.Value <= 0 || v.Unit == "" || seen[v.Name] {
			t.Errorf("%+v", v)
		}
		seen[v.Name] = true
	}
	for _, want := range []string{"write, 1024 KiB", "read, warm", "loopback, sendfile", "1 KiB and fsync", "CRC-32C, 1 MiB", "copy, 64 MiB"} {
		if !seen[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := Read(filepath.Join(dir, "missing")); err == nil {
		t.Error("a file that is not there was read")
	}
}
