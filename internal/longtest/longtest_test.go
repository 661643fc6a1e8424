package longtest

import (
	"testing"

	"pgregory.net/rapid"
)

func TestShortAndLong(t *testing.T) {
	for value, want := range map[string]int{"": 1, "1": 2} {
		t.Setenv(Variable, value)
		if got := Pick(1, 2); got != want {
			t.Errorf("%s=%q gives %d", Variable, value, got)
		}
	}
}

// Check runs as many histories as it says, from a new seed every time.
func TestCheckCounts(t *testing.T) {
	if given()["rapid.checks"] || given()["rapid.seed"] || testing.Short() {
		t.Skip("the flags decide")
	}
	t.Setenv(Variable, "")
	var seen [2][]uint64
	for i := range seen {
		Check(t, 7+i, 1000, func(rt *rapid.T) { seen[i] = append(seen[i], rapid.Uint64().Draw(rt, "x")) })
	}
	if len(seen[0]) != 7 || len(seen[1]) != 8 {
		t.Errorf("%d and %d histories", len(seen[0]), len(seen[1]))
	}
	same := 0
	for i, x := range seen[0] {
		if x == seen[1][i] {
			same++
		}
	}
	if same == len(seen[0]) {
		t.Error("both runs had the same seed")
	}
}
