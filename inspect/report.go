package inspect

import (
	"cmp"
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
type findings struct {
	files  []string // in the order of discovery
	byFile map[string][]finding
}

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
	path = absolute(path)
	if f.byFile == nil {
		f.byFile = map[string][]finding{}
	}
	if _, ok := f.byFile[path]; !ok {
		f.files = append(f.files, path)
	}
	f.byFile[path] = append(f.byFile[path], finding{a, b})
}

// put is add, but one finding is kept per a: the latest, as in the maps of Kafka's tool.
func (f *findings) put(path string, a, b int64) {
	list := f.byFile[absolute(path)]
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
func ascending(x, y finding) int { return cmp.Compare(x.a, y.a) }

func descending(x, y finding) int { return cmp.Compare(y.a, x.a) }

// paths returns the files in the order in which Kafka's tool lists them, that of a Java HashMap filled by
// computeIfAbsent: by bucket, and inside of one the latest first. The map doubles when it is filled above three
// quarters before an insertion.
func (f *findings) paths() []string {
	buckets := uint32(16)
	for n := len(f.files) - 1; float64(n) > 0.75*float64(buckets); {
		buckets *= 2
	}
	all := slices.Clone(f.files)
	slices.Reverse(all)
	slices.SortStableFunc(all, func(x, y string) int {
		return cmp.Compare(javaHash(x)&(buckets-1), javaHash(y)&(buckets-1))
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
