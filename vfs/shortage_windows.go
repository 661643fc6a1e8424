package vfs

import (
	"errors"

	"golang.org/x/sys/windows"
)

func hostFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

func hostExhausted(err error) bool { return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) }
