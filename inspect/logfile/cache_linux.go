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
	// pages is what is in the page cache before the first read that the disk is needed for; until then nothing was brought in.
	pages atomic.Pointer[residency]
	look  sync.Once
}

func (c *cache) open(f vfs.File, size int64) {
	c.host, _ = f.(vfs.OS)
	c.size = size
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
	c.look.Do(func() {
		if pages := resident(c.host, c.size); pages != nil {
			c.pages.Store(&pages)
		}
	})
	return f.ReadAt(b, at)
}

// residency is which pages of a file are in the page cache, a byte each; nil: not known, and then nothing is given back. A
// segment has at most 2^19 pages.
type residency []byte

// resident asks mincore, which for a file that this user may not write says that all pages are there.
func resident(host vfs.OS, size int64) residency {
	if host == nil || size <= 0 || size > 1<<31 {
		return nil
	}
	mapped, err := unix.Mmap(int(host.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Munmap(mapped) }()
	page := int64(os.Getpagesize())
	pages := make(residency, (size+page-1)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(size), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return nil
	}
	return pages
}

func (c *cache) giveBack(from, to int64) {
	pages := c.pages.Load()
	if pages == nil {
		return
	}
	r := *pages
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
			_ = unix.Fadvise(int(c.host.Fd()), at*page, (run-at)*page, unix.FADV_DONTNEED) // advice
		}
		for at = run; at < last && r[at]&1 != 0; {
			at++
		}
	}
}
