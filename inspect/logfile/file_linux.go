package logfile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/samsalog/samsa/vfs"
)

// residency is which pages of a file were in the page cache when it was opened, a byte each; nil: not known, and then
// nothing is given back. A segment has at most 2^19 pages.
type residency []byte

// resident asks mincore, which for a file that this user may not write says that all pages are there.
func resident(f vfs.File, size int64) residency {
	host, ok := f.(vfs.OS)
	if !ok || size <= 0 || size > 1<<31 {
		return nil
	}
	if all(host, size) {
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

func (r residency) giveBack(f vfs.File, from, to int64) {
	host, ok := f.(vfs.OS)
	if !ok || r == nil {
		return
	}
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
			_ = unix.Fadvise(int(host.Fd()), at*page, (run-at)*page, unix.FADV_DONTNEED) // advice
		}
		for at = run; at < last && r[at]&1 != 0; {
			at++
		}
	}
}
