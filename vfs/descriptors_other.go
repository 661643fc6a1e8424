//go:build !linux && !darwin

package vfs

// DescriptorLimit is how many descriptors the process may have; 0: no limit is known. Windows has none that counts.
func DescriptorLimit() int { return 0 }
