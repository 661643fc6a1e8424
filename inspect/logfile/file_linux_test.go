package logfile

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/samsalog/samsa/vfs"
)

// cached is how many pages of a file are in the page cache.
func cached(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0); err != nil {
		t.Skipf("this kernel does not tell what is cached: %v", err)
	}
	return stat.Cache
}

// LGF-3: pages that a walk brings into the page cache go, those that were there stay.
func TestPagesAreGivenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00000000000000000000.log")
	var log []byte
	for i := range 600 {
		log = append(log, batch(int64(i), 16<<10)...)
	}
	host, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if _, err := host.Write(log); err != nil {
		t.Fatal(err)
	}
	if err := host.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(host.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if n := cached(t, path); n > 0 {
		t.Skipf("this file system keeps %d pages of a file that nobody needs", n)
	}
	warm := make([]byte, 1<<20)
	if err := unix.Fadvise(int(host.Fd()), 0, 0, unix.FADV_RANDOM); err != nil { // so that no more than is asked for is read
		t.Fatal(err)
	}
	if _, err := host.ReadAt(warm, 2<<20); err != nil {
		t.Fatal(err)
	}
	before := cached(t, path)
	f, err := Open(vfs.NewOS(), path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(walk(NewReader(f, 0, f.SizeInBytes))); n != 601 {
		t.Errorf("%d lines", n)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if after := cached(t, path); after < before || after > before+64 {
		t.Errorf("%d pages were cached before, %d are after", before, after)
	}
}
