package logfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// LGF-3, in a file of several stretches: those that the disk was not needed near are not asked about.
func TestStretches(t *testing.T) {
	const size = 5*stretchSize + 4097
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil { // holes are in the page cache like anything else
		t.Fatal(err)
	}
	f, err := Open(vfs.NewOS(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.cache.host.Fd())
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil { // so that no more than is asked for is read
		t.Fatal(err)
	}
	b := make([]byte, 64<<10)
	read := func(at int64) {
		if _, err := unix.Pread(fd, b, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []int64{stretchSize - 4096, 3 * stretchSize, 5 * stretchSize} {
		read(at)
	}
	before := cached(t, path)
	known := func() (all []int) {
		for i, r := range f.cache.before {
			if r != nil {
				all = append(all, i)
			}
		}
		return all
	}
	for _, step := range []struct {
		at   int64
		then []int
	}{
		{stretchSize - 8192, []int{0, 1, 2}},
		{stretchSize + 1<<20, []int{0, 1, 2}},
		{5*stretchSize - 4096, []int{0, 1, 2, 4, 5}},
		{3 * stretchSize, []int{0, 1, 2, 3, 4, 5}}, // in the page cache
	} {
		if step.at == 3*stretchSize {
			f.cache.partial.Store(true)
			if _, err := f.ReadAt(b, step.at); err != nil {
				t.Fatal(err)
			}
		} else {
			f.cache.look(step.at, step.at+int64(len(b)))
		}
		if got := known(); !slices.Equal(got, step.then) {
			t.Errorf("after byte %d stretches %v were asked about, want %v", step.at, got, step.then)
		}
		read(step.at)
	}
	if brought := cached(t, path) - before; brought < 16 {
		t.Fatalf("%d pages were brought in", brought)
	}
	f.GiveBack(0, size)
	if after := cached(t, path); after != before {
		t.Errorf("%d pages were cached before, %d are after", before, after)
	}
}

// What is read is what stands there, wherever it comes from, and the end is io.EOF.
func TestReadAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	want := make([]byte, 3<<20+17)
	for i := range want {
		want[i] = byte(i >> 3)
	}
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(vfs.NewOS(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at := int64(0); at < int64(len(want)); at += 700_001 {
		// Partly in the page cache, partly not; what a file system does not let go of is one of the cases.
		if err := unix.Fadvise(int(f.cache.host.Fd()), at+1<<16, 1<<17, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 1<<20)
		n, err := f.ReadAt(got, at)
		if left := int64(len(want)) - at; left < int64(len(got)) && (err != io.EOF || int64(n) != left) || left >= int64(len(got)) && (err != nil || n != len(got)) {
			t.Errorf("at %d: %d bytes, %v", at, n, err)
		}
		if !bytes.Equal(got[:n], want[at:at+int64(n)]) {
			t.Errorf("at %d: other bytes", at)
		}
	}
}
