package index

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// TestSearchOfUnevenEntries: wherever the search begins, it finds what a plain one finds.
func TestSearchOfUnevenEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rels []int64
		next := int64(rapid.IntRange(0, 1<<20).Draw(t, "first"))
		for range rapid.IntRange(1, 4).Draw(t, "producers") {
			step := rapid.SampledFrom([]int64{1, 2, 50, 5000, 1 << 18}).Draw(t, "records in a batch")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			for range rapid.IntRange(0, 700).Draw(t, "entries") {
				if next > math.MaxInt32 {
					break
				}
				rels = append(rels, next)
				next += 1 + r.Int64N(step)
			}
		}
		raw := make([]byte, len(rels)*offsetEntry)
		for i, rel := range rels {
			binary.BigEndian.PutUint32(raw[i*offsetEntry:], uint32(rel))
		}
		for range 200 {
			rel := rapid.Int64Range(-1, next+3).Draw(t, "offset")
			want := sort.Search(len(rels), func(i int) bool { return rels[i] > rel }) - 1
			if got := lastOffsetEntry(raw, rel); got != want {
				t.Fatalf("%d of %d entries is the last up to %d, found was %d", want, len(rels), rel, got)
			}
		}
	})
}

// TestSearchOfGarbage: entries that do not rise lead to any of them, and nowhere else (IDX-5).
func TestSearchOfGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	raw := make([]byte, 200*offsetEntry)
	for range 3000 {
		same := r.Uint32()
		for i := 0; i < len(raw); i += 4 {
			if binary.BigEndian.PutUint32(raw[i:], r.Uint32()); r.IntN(3) == 0 {
				binary.BigEndian.PutUint32(raw[i:], same)
			}
		}
		if r.IntN(2) == 0 { // first and last alike: nothing to divide by
			copy(raw[len(raw)-offsetEntry:], raw[:offsetEntry])
		}
		for _, rel := range []int64{0, 1, int64(same), math.MaxInt32, math.MaxInt64, r.Int64()} {
			if at := lastOffsetEntry(raw, rel); at < -1 || at >= len(raw)/offsetEntry {
				t.Fatalf("entry %d of %d", at, len(raw)/offsetEntry)
			}
		}
	}
}
