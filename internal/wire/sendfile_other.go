//go:build !linux

package wire

import "github.com/samsalog/samsa/vfs"

// sendfile is not used here: regions are copied.
func (o *outbound) sendfile(*vfs.Region) (bool, error) { return false, nil }
