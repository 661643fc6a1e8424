//go:build linux || darwin

package vfs

import "golang.org/x/sys/unix"

// diskUsage reports the size of path's file system and what an ordinary user may still fill.
func diskUsage(path string) (total, usable uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, err
	}
	block := uint64(st.Bsize) //nolint:unconvert // the field is int64 on linux and uint32 on darwin
	return st.Blocks * block, st.Bavail * block, nil
}
