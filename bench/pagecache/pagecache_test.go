package pagecache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestEvict(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "empty"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, len(name)%2<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	share, err := Share(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("not on this system")
	}
	if err != nil || share < 0.9 {
		t.Fatalf("just written: %v, %v", share, err)
	}
	if err := Evict(dir); err != nil {
		t.Skipf("this file system does not let go: %v", err)
	}
	if share, err = Share(dir); err != nil || share > mostLeft {
		t.Errorf("evicted: %v, %v", share, err)
	}
	if err := Fill(dir); err != nil { // PGC-2
		t.Error(err)
	}
	if share, err = Share(dir); err != nil || share < 0.9 {
		t.Errorf("filled in: %v, %v", share, err)
	}
	if err := Fill(filepath.Join(dir, "missing")); err == nil {
		t.Error("a directory that is not there was filled in")
	}
	if _, err := Share(filepath.Join(dir, "missing")); err == nil {
		t.Error("a directory that is not there was accepted")
	}
}
