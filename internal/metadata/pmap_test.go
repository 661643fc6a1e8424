package metadata

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
)

// A pmap against a Go map, with old versions kept aside: none of them may change later.
func TestPmapModel(t *testing.T) {
	longtest.Check(t, 100, 5000, func(t *rapid.T) {
		type version struct {
			m    pmap[int, int]
			want map[int]int
		}
		now := version{want: map[int]int{}}
		var kept []version
		e := new(edit)
		for range rapid.IntRange(1, 300).Draw(t, "changes") {
			k := rapid.IntRange(0, 200).Draw(t, "key")
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				kept = append(kept, version{now.m, maps.Clone(now.want)})
				e = new(edit)
			case 1, 2, 3:
				now.m = now.m.without(k, e)
				delete(now.want, k)
			default:
				v := rapid.Int().Draw(t, "value")
				now.m = now.m.with(k, v, e)
				now.want[k] = v
			}
		}
		for _, x := range append(kept, now) {
			if got := maps.Collect(x.m.all()); !maps.Equal(got, x.want) || x.m.len() != len(x.want) {
				t.Fatalf("got %v (%d), want %v", got, x.m.len(), x.want)
			}
			for k := range 201 {
				v, ok := x.m.get(k)
				if w, is := x.want[k]; ok != is || v != w {
					t.Fatalf("%d: %d %t, want %d %t", k, v, ok, w, is)
				}
			}
		}
	})
}

// Below the last level of the hash, keys stand in a plain list.
func TestPmapBelowTheLastLevel(t *testing.T) {
	n := &pnode[string, int]{}
	for i, k := range []string{"a", "b", "c", "b"} {
		var added bool
		if n, added = n.with(42, hashBits, k, i, nil); added != (i < 3) {
			t.Fatalf("%s: added %t", k, added)
		}
	}
	if i, ok := n.find(42, hashBits, "b"); !ok || n.slots[i].value != 3 {
		t.Fatalf("%+v", n.slots)
	}
	n = n.without(42, hashBits, "a", nil).without(42, hashBits, "b", nil)
	if len(n.slots) != 1 || n.slots[0].key != "c" {
		t.Fatalf("%+v", n.slots)
	}
	if _, ok := n.find(42, hashBits, "a"); ok {
		t.Fatal("a is still there")
	}
}
