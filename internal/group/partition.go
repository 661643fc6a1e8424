package group

import (
	"unicode/utf16"

	"github.com/samsalog/samsa/internal/coord"
)

// OffsetsTopic is the topic that holds groups and their offsets.
const OffsetsTopic = "__consumer_offsets"

// PartitionFor returns the partition of the offsets topic that a group belongs to, of n.
func PartitionFor(group string, n int32) int32 { return coord.PartitionFor(group, n) }

// utf16Len is Java's String.length.
func utf16Len(s string) int {
	n := 0
	for _, c := range s {
		n += utf16.RuneLen(c)
	}
	return n
}
