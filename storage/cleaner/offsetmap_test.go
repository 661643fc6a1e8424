package cleaner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
)

// TestOffsetMapModel compares the map with Go's, over sizes that make it grow, fill up and collide.
func TestOffsetMapModel(t *testing.T) {
	longtest.Check(t, 30, 1000, func(t *rapid.T) {
		m := newOffsetMap(int64(slotSize*rapid.IntRange(0, 5000).Draw(t, "slots")), rapid.Float64Range(0, 1.2).Draw(t, "load"))
		model := map[string]record.Offset{}
		full := false
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		for o := range record.Offset(rapid.IntRange(0, 8000).Draw(t, "records")) {
			key := fmt.Sprint(random.IntN(6000))
			_, known := model[key]
			if m.put(hash([]byte(key)), o) {
				model[key] = o
			} else if full = true; known {
				t.Fatal("a known key was refused")
			}
		}
		if len(m.slots) > max(1, m.maxSlots) || len(model) != m.used || full && float64(m.used) < min(m.loadFactor, 1)*float64(m.maxSlots)*8/9-1 {
			t.Fatalf("%d slots of %d, %d used for %d keys", len(m.slots), m.maxSlots, m.used, len(model))
		}
		for k := range 6100 {
			key := fmt.Sprint(k)
			o, ok := m.get(hash([]byte(key)))
			if want, known := model[key]; ok != known || ok && o != want {
				t.Fatalf("%q: %d %v, want %d %v", key, o, ok, want, known)
			}
		}
	})
}

// TestOffsetMapMemory counts what growing takes: the old and the new table together stay below the bound.
func TestOffsetMapMemory(t *testing.T) {
	const bound = 4 << 20
	m := newOffsetMap(bound, 0.9)
	for o := record.Offset(0); ; o++ {
		before := len(m.slots)
		if !m.put(hash(fmt.Appendf(nil, "%d", o)), o) {
			break
		}
		if after := len(m.slots); after != before && (after+before)*slotSize > bound {
			t.Fatalf("grew from %d to %d slots", before, after)
		}
	}
	if float64(m.used) < 0.79*bound/slotSize {
		t.Fatalf("only %d keys in %d bytes", m.used, bound)
	}
}

func TestOffsetMapTellsUpTo(t *testing.T) {
	m := newOffsetMap(1<<20, 0.9)
	if m.latest != -1 {
		t.Fatal(m.latest)
	}
	m.put(hash([]byte("a")), 5)
	m.reach(9)
	m.reach(7)
	if m.latest != 9 {
		t.Fatal(m.latest)
	}
	if _, ok := m.get(hash(nil)); ok {
		t.Fatal("found a key that was never put")
	}
}

func BenchmarkOffsetMap(b *testing.B) {
	m := newOffsetMap(24<<20, 0.9)
	key := make([]byte, 16)
	for i := 0; b.Loop(); i++ {
		key[0], key[1], key[2] = byte(i), byte(i>>8), byte(i>>16)&7
		m.put(hash(key), record.Offset(i))
	}
}
