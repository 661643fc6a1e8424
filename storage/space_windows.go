package storage

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isNoSpace reports whether the disk is full.
func isNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
