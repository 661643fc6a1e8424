package overlay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/vfs"
)

func open(t *testing.T, base, scratch vfs.FS, roots ...string) *FS {
	t.Helper()
	f, err := Open(Options{Base: base, Scratch: scratch, Dir: "/scratch", Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestATornTailIsALength: cutting and extending a large file copies nothing of it.
func TestATornTailIsALength(t *testing.T) {
	base, scratch := vfs.NewMem(), vfs.NewMem()
	if err := base.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, base, "/d/log", strings.Repeat("x", 1<<20))
	over := open(t, frozen(t, base), scratch)
	f, err := over.OpenFile("/d/log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1<<20 - 7); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("tail"), 1<<20-7); err != nil {
		t.Fatal(err)
	}
	if size, err := f.Size(); err != nil || size != 1<<20-3 {
		t.Fatal(size, err)
	}
	total, usable, err := scratch.Usage("/")
	if err != nil || total-usable > 4096 {
		t.Fatalf("%d bytes were written for 4", total-usable)
	}
	part, at, ok := f.(vfs.Layered).Part(0, 1<<19)
	if !ok || part.Name() != "/d/log" || at != 0 {
		t.Error("the base's part is not sent from the base's file")
	}
	if part, at, ok = f.(vfs.Layered).Part(1<<20-7, 4); !ok || at != 0 || !strings.HasPrefix(part.Name(), "/scratch/blobs/") {
		t.Error("the tail is not sent from its blob")
	}
	if _, _, ok = f.(vfs.Layered).Part(1<<20-8, 2); ok {
		t.Error("two files are said to be one")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRegionsOfTheBaseHaveADescriptor: the kernel sends them.
func TestRegionsOfTheBaseHaveADescriptor(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "log")
	if err := os.WriteFile(name, []byte("abcdef"), 0o400); err != nil {
		t.Fatal(err)
	}
	over, err := Open(Options{Base: vfs.NewOS(), Scratch: vfs.NewOS(), Dir: t.TempDir(), Roots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := over.OpenFile(name, os.O_RDWR, 0) // though the file may only be read
	if err != nil {
		t.Fatal(err)
	}
	r := vfs.NewRegion(f, 1, 3, nil)
	if _, ok := r.File.(vfs.OS); !ok {
		t.Error("a region of an unchanged file has no descriptor")
	}
	b := make([]byte, 3)
	if err := r.ReadInto(b); err != nil || string(b) != "bcd" {
		t.Fatal(string(b), err)
	}
	if err := errors.Join(f.Close(), over.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestScratchOfAnotherState is OVL-3.
func TestScratchOfAnotherState(t *testing.T) {
	base, scratch := vfs.NewMem(), vfs.NewMem()
	if err := base.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, base, "/d/a", "1")
	over := open(t, base, scratch, "/d")
	write(t, over, "/d/a", "2")
	if err := over.Close(); err != nil {
		t.Fatal(err)
	}
	over = open(t, base, scratch, "/d")
	if got := content(t, over, "/d/a"); got != "2" {
		t.Fatalf("what was written before is gone: %q", got)
	}
	if err := over.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, base, "/d/a", "3")
	if err := base.Chtimes("/d/a", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Base: base, Scratch: scratch, Dir: "/scratch", Roots: []string{"/d"}}); !errors.Is(err, ErrChanged) {
		t.Errorf("a scratch of another state was taken: %v", err)
	}
	if _, err := Open(Options{Base: base, Scratch: scratch, Dir: "/d/scratch", Roots: []string{"/d"}}); !errors.Is(err, ErrInside) {
		t.Errorf("a scratch inside was taken: %v", err)
	}
	if _, err := base.Stat("/d/scratch"); err == nil {
		t.Error("and it was made")
	}
}

// TestALiveBrokerIsRefused: its lock is respected, and it is kept out where that can be done without writing.
func TestALiveBrokerIsRefused(t *testing.T) {
	base := vfs.NewMem()
	if err := base.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	running, err := base.Lock("/d/.lock")
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Base: base, Scratch: vfs.NewMem(), Dir: "/scratch", Roots: []string{"/d"}}
	if _, err := Open(options); !errors.Is(err, ErrInUse) {
		t.Fatalf("a live broker's directory was taken: %v", err)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	over, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := base.Lock("/d/.lock"); !errors.Is(err, vfs.ErrLocked) {
		t.Error("a broker can start meanwhile")
	}
	mine, err := over.Lock("/d/.lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := over.Lock("/d/.lock"); !errors.Is(err, vfs.ErrLocked) {
		t.Error("two have the lock")
	}
	if err := errors.Join(mine.Close(), over.Close()); err != nil {
		t.Fatal(err)
	}
	if err := base.Remove("/d/.lock"); err != nil {
		t.Fatal(err)
	}
	options.Scratch = vfs.NewMem()
	if over, err = Open(options); err != nil {
		t.Fatal(err)
	}
	if err := over.Disturbed(); err != nil {
		t.Error(err)
	}
	if running, err = base.Lock("/d/.lock"); err != nil {
		t.Fatal(err)
	}
	if err := over.Disturbed(); !errors.Is(err, ErrInUse) {
		t.Errorf("a broker that started meanwhile goes unnoticed: %v", err)
	}
	if err := errors.Join(over.Close(), running.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOrphansGo: blobs that no name leads to are removed, at once or by the next Open.
func TestOrphansGo(t *testing.T) {
	base, scratch := vfs.NewMem(), vfs.NewMem()
	if err := base.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	over := open(t, base, scratch, "/d")
	for _, name := range []string{"/d/a", "/d/b", "/d/c"} {
		write(t, over, name, name)
	}
	if err := errors.Join(over.Rename("/d/a", "/d/b"), over.Remove("/d/c"), over.SyncDir("/d")); err != nil {
		t.Fatal(err)
	}
	write(t, scratch, "/scratch/blobs/00000000000000ff", "left by a crash")
	if err := over.Close(); err != nil {
		t.Fatal(err)
	}
	over = open(t, base, scratch, "/d")
	entries, err := scratch.ReadDir("/scratch/blobs")
	if err != nil || len(entries) != 1 || content(t, over, "/d/b") != "/d/a" {
		t.Fatal(entries, err)
	}
	if _, err := over.Stat("/d/a"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestTimes: a modification time can be set without copying, and is kept.
func TestTimes(t *testing.T) {
	base, scratch := vfs.NewMem(), vfs.NewMem()
	if err := base.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, base, "/d/a", "1")
	over := open(t, frozen(t, base), scratch, "/d")
	at := time.Unix(1700000000, 0)
	if err := errors.Join(over.Chtimes("/d/a", at), over.Rename("/d/a", "/d/b")); err != nil {
		t.Fatal(err)
	}
	if err := over.Close(); err != nil {
		t.Fatal(err)
	}
	over = open(t, frozen(t, base), scratch, "/d")
	info, err := over.Stat("/d/b")
	if err != nil || !info.ModTime().Equal(at) || info.Size() != 1 {
		t.Fatal(info, err)
	}
}
