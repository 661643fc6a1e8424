package level

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Ground waits until nothing is left to be written back, and has the host supply n bytes of memory, which are free afterwards.
func Ground(n int64) error {
	unix.Sync()
	if n <= 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("level ground: %w", err)
	}
	// Small pages, as those of files: they come first from what is left of blocks that were split, which the host may not have supplied.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) // advice
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	if err := unix.Munmap(b); err != nil {
		return fmt.Errorf("level ground: %w", err)
	}
	return nil
}
