package vfs

import "golang.org/x/sys/windows"

// diskUsage reports the size of path's volume and what this user may still fill.
func diskUsage(path string) (total, usable uint64, err error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, err
	}
	err = windows.GetDiskFreeSpaceEx(p, &usable, &total, nil)
	return total, usable, err
}
