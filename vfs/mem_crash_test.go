package vfs

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
)

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	m := NewMem()
	if err := errors.Join(m.MkdirAll("/d/e", 0o755), m.SyncDir("/"), m.SyncDir("/d"), m.MkdirAll("/d/lost", 0o755)); err != nil {
		t.Fatal(err)
	}
	put(t, m, "/d/synced", "one")
	fsync(t, m, "/d/synced")
	put(t, m, "/d/named", "content not synced")
	put(t, m, "/d/renamed", "two")
	fsync(t, m, "/d/renamed")
	put(t, m, "/d/removed", "three")
	fsync(t, m, "/d/removed")
	if err := m.SyncDir("/d"); err != nil {
		t.Fatal(err)
	}
	put(t, m, "/d/unnamed", "name not synced")
	fsync(t, m, "/d/unnamed")
	put(t, m, "/d/e/file", "x")
	fsync(t, m, "/d/e/file")
	f, err := m.OpenFile("/d/synced", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(second(f.WriteAt([]byte("ONE MORE"), 0)), m.Rename("/d/renamed", "/d/other"), m.Remove("/d/removed")); err != nil {
		t.Fatal(err)
	}
	c := m.Crash()
	for name, want := range map[string]string{
		"/d/synced": "one", "/d/named": "", "/d/renamed": "two", "/d/other": "missing", "/d/removed": "three",
		"/d/unnamed": "missing", "/d/e/file": "missing",
	} {
		if got := get(t, c, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := c.Stat("/d/lost"); err != nil {
		t.Errorf("/d/lost was made before SyncDir: %v", err)
	}
	if got := get(t, m, "/d/synced"); got != "ONE MORE" {
		t.Errorf("the crash changed the original: %q", got)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, c, "/d/synced"); got != "one" {
		t.Errorf("a later sync changed the crashed copy: %q", got)
	}
	if got := get(t, m.Crash(), "/d/synced"); got != "ONE MORE" {
		t.Errorf("synced after the first crash: %q", got)
	}
}

func TestTruncateIsLostWithoutSync(t *testing.T) {
	m := NewMem()
	put(t, m, "/a", "abcdef")
	fsync(t, m, "/a")
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	put(t, m, "/a", "") // O_TRUNC
	if got := get(t, m.Crash(), "/a"); got != "abcdef" {
		t.Errorf("after crash %q", got)
	}
	fsync(t, m, "/a")
	if got := get(t, m.Crash(), "/a"); got != "" {
		t.Errorf("after sync and crash %q", got)
	}
}

func TestCrashKeeping(t *testing.T) {
	m := NewMem()
	old := strings.Repeat("o", 3*sectorSize)
	put(t, m, "/a", old)
	fsync(t, m, "/a")
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	f, err := m.OpenFile("/a", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("n", 3*sectorSize)), 100); err != nil {
		t.Fatal(err)
	}
	if err := m.Rename("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	put(t, m, "/c", "c")
	seen := map[string]bool{}
	seeds := longtest.Pick(uint64(200), 20000)
	for seed := range seeds {
		c, same := m.CrashKeeping(seed), m.CrashKeeping(seed)
		a, b := get(t, c, "/a"), get(t, c, "/b")
		if a != get(t, same, "/a") || b != get(t, same, "/b") {
			t.Fatalf("seed %d: two crashes differ", seed)
		}
		if (a == "missing") == (b == "missing") {
			t.Fatalf("seed %d: the rename was done by half: %.20q %.20q", seed, a, b)
		}
		if get(t, c, "/c") != "missing" && b == "missing" {
			t.Fatalf("seed %d: a later directory change is kept and an earlier one is not", seed)
		}
		content := a + b
		content = strings.TrimPrefix(strings.TrimSuffix(content, "missing"), "missing")
		if content[:100] != old[:100] {
			t.Fatalf("seed %d: bytes changed that nobody wrote", seed)
		}
		for i := 100; i < len(content); {
			end := min(i+sectorSize-i%sectorSize, len(content))
			part := content[i:end]
			if part != strings.Repeat(part[:1], len(part)) {
				t.Fatalf("seed %d: sector at %d is torn: %q", seed, i, part)
			}
			i = end
		}
		seen[content] = true
	}
	t.Logf("%d seeds gave %d different contents", seeds, len(seen))
	if len(seen) < 8 {
		t.Error("too few")
	}
}
