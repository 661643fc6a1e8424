//go:build !windows

package storage

import (
	"errors"
	"syscall"
)

// isNoSpace reports whether the disk, or the user's share of it, is full.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
