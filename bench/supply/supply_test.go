package supply

import "testing"

// SUP-1.
func TestMemory(t *testing.T) {
	for _, n := range []int64{-1, 0, 1, 64<<20 + 17} {
		if err := Memory(n); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
