package inspect

import (
	"slices"
	"unicode/utf16"
)

// report collects what does not fit together, file by file, for the summary at the end.
type report struct {
	mismatches     findings // offset index entries that do not match the batch they point at
	timeMismatches findings // time index entries whose timestamp is not the largest of the batch
	timeOrder      findings // time index entries that do not rise
	notFound       findings // time index entries whose offset is not the last of a batch
	gaps           findings // offsets that do not follow each other
}

// findings are pairs of numbers by absolute path.
type findings map[string][]finding

// finding is (what the index says, what the log says), or for gaps (offset, the one that follows).
type finding struct{ a, b int64 }

func (r *report) mismatch(path string, indexOffset, logOffset int64) {
	r.mismatches.put(path, indexOffset, logOffset)
}

func (r *report) timeMismatch(path string, indexTimestamp, logTimestamp int64) {
	r.timeMismatches.add(path, indexTimestamp, logTimestamp)
}

func (r *report) outOfOrder(path string, timestamp, previous int64) {
	r.timeOrder.add(path, timestamp, previous)
}

func (r *report) offsetNotFound(path string, indexOffset, logOffset int64) {
	r.notFound.add(path, indexOffset, logOffset)
}

func (r *report) gap(path string, offset, next int64) { r.gaps.put(path, offset, next) }

func (f *findings) add(path string, a, b int64) {
	if *f == nil {
		*f = findings{}
	}
	path = absolute(path)
	(*f)[path] = append((*f)[path], finding{a, b})
}

// put is add, but one finding is kept per a: the latest, as in the maps of Kafka's tool.
func (f *findings) put(path string, a, b int64) {
	list := (*f)[absolute(path)]
	for i := len(list) - 1; i >= 0 && i >= len(list)-maxPutBack; i-- {
		if list[i].a == a {
			list[i].b = b
			return
		}
	}
	f.add(path, a, b)
}

// maxPutBack is how far back put looks for an equal number; numbers repeat, if at all, in damaged files, where
// the repetition is near.
const maxPutBack = 64

// ascending and descending are the orders of Kafka's maps.
func ascending(x, y finding) int { return compare(x.a, y.a) }

func descending(x, y finding) int { return compare(y.a, x.a) }

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// paths returns the files in the order in which a Java HashMap of them is walked.
func (f findings) paths() []string {
	all := make([]string, 0, len(f))
	for path := range f {
		all = append(all, path)
	}
	buckets := uint32(16)
	for float64(len(all)) > 0.75*float64(buckets) {
		buckets *= 2
	}
	slices.Sort(all) // files that share a bucket: Kafka's order is that of discovery
	slices.SortStableFunc(all, func(x, y string) int {
		return compare(int64(javaHash(x)&(buckets-1)), int64(javaHash(y)&(buckets-1)))
	})
	return all
}

// javaHash is String.hashCode as HashMap spreads it.
func javaHash(s string) uint32 {
	var h uint32
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(unit)
	}
	return h ^ h>>16
}
