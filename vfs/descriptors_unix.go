//go:build linux || darwin

package vfs

import "syscall"

// DescriptorLimit is how many descriptors the process may have; 0: no limit is known.
//
// The Go runtime raises the soft limit to the hard one when a program starts, and gives a child process the old limit
// back (package os, since Go 1.19). So nothing is raised here: doing it again would take that back from children, and a
// program that has lowered its limit since has a reason.
func DescriptorLimit() int {
	var r syscall.Rlimit
	const most = 1 << 30 // more than any table of descriptors, and an int everywhere
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil || r.Cur > most {
		return 0
	}
	return int(r.Cur)
}
