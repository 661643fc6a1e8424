package storage

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsNoSpace reports whether the disk is full.
func IsNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
