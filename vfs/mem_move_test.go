package vfs

import (
	"os"
	"testing"
)

// VFS-2: a power failure leaves a file that was moved to another directory its old name, the new one, or both.
func TestCrashOfAMove(t *testing.T) {
	ways := map[[2]bool]int{}
	for seed := range uint64(200) {
		m := NewMem()
		for _, dir := range []string{"/a", "/b"} {
			if err := m.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		f, err := m.OpenFile("/a/f", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"/", "/a"} {
			if err := m.SyncDir(dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Rename("/a/f", "/b/f"); err != nil {
			t.Fatal(err)
		}
		if seed%2 == 1 {
			if err := m.SyncDir("/b"); err != nil {
				t.Fatal(err)
			}
		}
		left := m.CrashKeeping(seed)
		_, before := left.Stat("/a/f")
		_, after := left.Stat("/b/f")
		if before != nil && after != nil {
			t.Errorf("seed %d: the file is gone", seed)
		}
		ways[[2]bool{before == nil, after == nil}]++
	}
	if len(ways) != 3 {
		t.Errorf("%v", ways)
	}
}
