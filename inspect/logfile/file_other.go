//go:build !linux

package logfile

import "github.com/samsalog/samsa/vfs"

// residency is known on Linux only; elsewhere pages stay as the system likes.
type residency struct{}

func resident(vfs.File, int64) residency { return residency{} }

func (residency) giveBack(vfs.File, int64, int64) {}
