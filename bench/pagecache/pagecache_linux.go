package pagecache

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Evict takes the regular files below dirs out of memory, after writing them through.
func Evict(dirs ...string) error {
	if err := each(dirs, evict); err != nil {
		return err
	}
	left, err := Share(dirs...)
	if err != nil || left <= mostLeft {
		return err
	}
	// Pages that a process has mapped stay; root can ask for more.
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		return fmt.Errorf("%.0f %% of the files stay in memory: %w", left*100, err)
	}
	if left, err = Share(dirs...); err == nil && left > mostLeft {
		return fmt.Errorf("%.0f %% of the files stay in memory", left*100)
	}
	return err
}

// Share returns the share of the bytes of the regular files below dirs that is in memory.
func Share(dirs ...string) (float64, error) {
	var all, resident int
	err := each(dirs, func(f *os.File, size int64) error {
		if size == 0 {
			return nil
		}
		data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Munmap(data) }() // of a map that was made above
		pages := make([]byte, (len(data)+os.Getpagesize()-1)/os.Getpagesize())
		if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
			return errno
		}
		all += len(pages)
		for _, p := range pages {
			resident += int(p & 1)
		}
		return nil
	})
	if err != nil || all == 0 {
		return 0, err
	}
	return float64(resident) / float64(all), nil
}

func evict(f *os.File, _ int64) error {
	if err := f.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
