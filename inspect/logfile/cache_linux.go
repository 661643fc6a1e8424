package logfile

import (
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/samsalog/samsa/vfs"
)

// cache is how an open file stands to the page cache.
type cache struct {
	// host is nil for a file that the system does not know.
	host vfs.OS
	// passing: the system drops by itself what is read for this file alone, if it is told so with each read (RWF_DONTCACHE: Linux
	// 6.14, most file systems). Otherwise pages are what was there when it was opened.
	passing bool
	pages   residency
}

func cacheOf(f vfs.File, size int64) cache {
	host, ok := f.(vfs.OS)
	if !ok {
		return cache{}
	}
	c := cache{host: host, passing: true}
	if _, errno := c.preadNow(make([]byte, 1), 0); errno != 0 && errno != unix.EAGAIN {
		c.passing, c.pages = false, resident(host, size)
	}
	return c
}

// copyAt copies what is in the page cache and returns how much that was. It waits for nothing, so the scheduler is not told of the
// system call: it would take the copy of half a megabyte for a wait and hand the processor to another thread, back and forth, which
// costs a fourth of what reading takes.
func (c cache) copyAt(b []byte, at int64) int {
	n := 0
	for c.host != nil && n < len(b) {
		got, errno := c.preadNow(b[n:], at+int64(n))
		if errno != 0 || got == 0 {
			break // the disk is needed, or the file is at its end
		}
		n += got
	}
	return n
}

// preadNow reads up to len(b) > 0 bytes at byte at that are in the page cache.
func (c cache) preadNow(b []byte, at int64) (int, syscall.Errno) {
	part := unix.Iovec{Base: &b[0]}
	part.SetLen(len(b))
	low, high := uintptr(at), uintptr(uint64(at)>>32) // a system of 64 bits looks at the first only
	n, _, errno := syscall.RawSyscall6(unix.SYS_PREADV2, c.host.Fd(), uintptr(unsafe.Pointer(&part)), 1, low, high, uintptr(unix.RWF_NOWAIT|c.flags()))
	runtime.KeepAlive(c.host)
	return int(n), errno
}

func (c cache) flags() int {
	if c.passing {
		return unix.RWF_DONTCACHE
	}
	return 0
}

// readAt is f.ReadAt, by which the page cache does not grow if that can be.
func (c cache) readAt(f vfs.File, b []byte, at int64) (n int, err error) {
	if !c.passing {
		return f.ReadAt(b, at)
	}
	for n < len(b) {
		got, err := unix.Preadv2(int(c.host.Fd()), [][]byte{b[n:]}, at+int64(n), unix.RWF_DONTCACHE)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, &os.PathError{Op: "read", Path: f.Name(), Err: err}
		case got == 0:
			return n, io.EOF
		default:
			n += got
		}
	}
	return n, nil
}

// residency is which pages of a file were in the page cache when it was opened, a byte each; nil: not known, and then
// nothing is given back. A segment has at most 2^19 pages.
type residency []byte

// resident asks mincore, which for a file that this user may not write says that all pages are there.
func resident(host vfs.OS, size int64) residency {
	if size <= 0 || size > 1<<31 || all(host, size) {
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

// all reports whether the whole file is in the page cache already, which newer kernels tell at once.
func all(host vfs.OS, size int64) bool {
	var stat unix.Cachestat_t
	if unix.Cachestat(uint(host.Fd()), &unix.CachestatRange{}, &stat, 0) != nil {
		return false
	}
	page := uint64(os.Getpagesize())
	return stat.Cache >= (uint64(size)+page-1)/page
}

func (c cache) giveBack(from, to int64) {
	if c.pages == nil {
		return
	}
	r := c.pages
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
