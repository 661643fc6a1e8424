//go:build !windows

package storage

import (
	"errors"
	"syscall"
)

// IsNoSpace reports whether the disk, or the user's share of it, is full.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
