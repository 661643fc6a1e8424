package logfile

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/samsalog/samsa/vfs"
)

// cache is how an open file stands to the page cache.
type cache struct {
	// host is nil for a file that the system does not know.
	host vfs.OS
	size int64

	// first is the first read. fetched is what this process had had from disks when the file was opened, in blocks.
	first   sync.Once
	fetched int64
	// partial: the disk was needed since, so the system may be reading ahead.
	partial atomic.Bool
	mu      sync.Mutex
	// before is what was in the page cache, stretch by stretch, before anything was read from the disk in or near one; nil: nothing was yet.
	before []residency
}

const (
	// stretchSize is how much of a file is asked about at a time: a few missing pages are no reason to ask about all of a segment.
	stretchSize = 32 << 20
	// aheadMost is how far behind what was read the system may have read ahead.
	aheadMost = 32 << 20
)

func (c *cache) open(f vfs.File, size int64) {
	c.host, _ = f.(vfs.OS)
	c.size, c.fetched = size, fetched()
}

// begin comes before a read of bytes from … to-1. When nothing has been missing yet only the first one asks.
func (c *cache) begin(from, to int64) {
	if c.partial.Load() {
		c.look(from, to)
		return
	}
	c.first.Do(func() { c.look(from, to) })
}

// copyAt copies what is in the page cache and returns how much that was. It waits for nothing, so the scheduler is not told of the
// system call: it would take the copy of half a megabyte for a wait and hand the processor to another thread, back and forth, which
// costs a fourth of what reading takes.
func (c *cache) copyAt(b []byte, at int64) int {
	n := 0
	for c.host != nil && n < len(b) {
		got, errno := preadNow(c.host, b[n:], at+int64(n))
		if errno != 0 || got == 0 {
			break // the disk is needed, or the file is at its end
		}
		n += got
	}
	return n
}

// preadNow reads up to len(b) > 0 bytes at byte at of f that are in the page cache.
func preadNow(f vfs.OS, b []byte, at int64) (int, syscall.Errno) {
	part := unix.Iovec{Base: &b[0]}
	part.SetLen(len(b))
	low, high := uintptr(at), uintptr(uint64(at)>>32) // a system of 64 bits looks at the first only
	n, _, errno := syscall.RawSyscall6(unix.SYS_PREADV2, f.Fd(), uintptr(unsafe.Pointer(&part)), 1, low, high, unix.RWF_NOWAIT)
	runtime.KeepAlive(f)
	return int(n), errno
}

// readAt is f.ReadAt, for which the disk is needed.
func (c *cache) readAt(f vfs.File, b []byte, at int64) (int, error) {
	c.missing(at, at+int64(len(b)))
	return f.ReadAt(b, at)
}

// goOn comes after a read up to byte to that did not wait. It may have had the system read all the same, which may even have been quicker than
// the question whether it is there; and who is slower than what is read ahead never misses anything.
func (c *cache) goOn(to int64) {
	if !c.partial.Load() && fetched() != c.fetched {
		c.missing(to, to)
	}
}

func (c *cache) missing(from, to int64) {
	c.partial.Store(true)
	c.look(from, to)
}

// fetched is how many blocks this process has had from disks.
func fetched() int64 {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage) // cannot fail
	return usage.Inblock
}

// look learns what is in the page cache of the bytes from … to-1 and of what may be read ahead, where that is not known. To ask about all of
// a file of which nothing is missing would cost 4 % of the time of a dump.
func (c *cache) look(from, to int64) {
	if c.host == nil || from < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before == nil {
		c.before = make([]residency, (c.size+stretchSize-1)/stretchSize)
	}
	for i := from / stretchSize; i < int64(len(c.before)) && i*stretchSize < to+aheadMost; i++ {
		if c.before[i] == nil {
			c.before[i] = resident(c.host, i*stretchSize, min(stretchSize, c.size-i*stretchSize))
		}
	}
}

// residency is which pages of a stretch are in the page cache, a byte each; empty: all, or that is not known, and nothing is given back.
type residency []byte

// resident asks about n bytes from byte at on: cachestat, which newer systems have, whether all is there, and if not mincore, which takes
// four times as long, what is. For a file that this user may not write neither tells.
func resident(host vfs.OS, at, n int64) residency {
	page := int64(os.Getpagesize())
	count := (n + page - 1) / page
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(host.Fd()), &unix.CachestatRange{Off: uint64(at), Len: uint64(n)}, &stat, 0); err == nil && stat.Cache == uint64(count) {
		return residency{}
	}
	mapped, err := unix.Mmap(int(host.Fd()), at, int(n), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return residency{}
	}
	defer func() { _ = unix.Munmap(mapped) }()
	pages := make(residency, count)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(n), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return residency{}
	}
	return pages
}

func (c *cache) giveBack(from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.before {
		if start := int64(i) * stretchSize; len(r) > 0 && start < to && start+stretchSize > from {
			r.giveBack(int(c.host.Fd()), start, max(0, from-start), min(to, c.size)-start)
		}
	}
}

// giveBack returns the pages of bytes from … to-1 of a stretch that begins at byte start of the file.
func (r residency) giveBack(fd int, start, from, to int64) {
	page := int64(os.Getpagesize())
	last := min(to/page, int64(len(r))) // a page that is in use stays for the next call
	if to >= int64(len(r))*page-page+1 {
		last = int64(len(r))
	}
	for at := from / page; at < last; {
		run := at
		for run < last && r[run]&1 == 0 {
			run++
		}
		if run > at {
			_ = unix.Fadvise(fd, start+at*page, (run-at)*page, unix.FADV_DONTNEED) // advice
		}
		for at = run; at < last && r[at]&1 != 0; {
			at++
		}
	}
}
