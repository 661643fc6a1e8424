package supply

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memory touches n bytes of memory and gives them back to the system, from which the next that needs some takes them.
func Memory(n int64) error {
	if n <= 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("supply memory: %w", err)
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // advice; large pages are what large writes take
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	if err := unix.Munmap(b); err != nil {
		return fmt.Errorf("supply memory: %w", err)
	}
	return nil
}
