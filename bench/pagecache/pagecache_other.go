//go:build !linux

package pagecache

import "errors"

// Evict is not there on this system.
func Evict(...string) error { return errors.ErrUnsupported }

// Share is not there on this system.
func Share(...string) (float64, error) { return 0, errors.ErrUnsupported }
