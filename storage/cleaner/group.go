package cleaner

import (
	"math"

	"github.com/samsalog/samsa/record"
)

// sized is a segment as grouping sees it.
type sized struct {
	base                      record.Offset
	log, offsetIndex, timeIdx int64
}

// limits bound what one group becomes: segment.bytes, and segment.index.bytes for each index.
type limits struct{ segment, index int64 }

// pack divides segments, oldest first, into runs that each become one segment, and returns how many each has
// (Cleaner.groupSegmentsBySize). end is the offset up to which the last one reaches. A segment without bytes never
// begins a new group for its offsets, so that empty ones do not pile up (KAFKA-12889).
func pack(list []sized, most limits, end record.Offset) []int {
	var groups []int
	for len(list) > 0 {
		sum, n := list[0], 1
		for n < len(list) && fits(sum, list[n:], most, end) {
			sum.log += list[n].log
			sum.offsetIndex += list[n].offsetIndex
			sum.timeIdx += list[n].timeIdx
			n++
		}
		groups = append(groups, n)
		list = list[n:]
	}
	return groups
}

// fits reports whether the first of rest may join the group that sum describes.
func fits(sum sized, rest []sized, most limits, end record.Offset) bool {
	s := rest[0]
	if sum.log+s.log > most.segment || sum.offsetIndex+s.offsetIndex > most.index || sum.timeIdx+s.timeIdx > most.index {
		return false
	}
	last := end - 1
	if len(rest) > 1 {
		last = rest[1].base - 1
	}
	return s.log == 0 || last-sum.base <= math.MaxInt32
}
