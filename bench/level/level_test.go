package level

import "testing"

// LVL-1.
func TestGround(t *testing.T) {
	for _, n := range []int64{-1, 0, 1, 64<<20 + 17} {
		if err := Ground(n); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
