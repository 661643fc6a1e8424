//go:build !windows

package vfs

// hostFull and hostExhausted: the POSIX error numbers say it all.
func hostFull(error) bool      { return false }
func hostExhausted(error) bool { return false }
