package group

import "testing"

func TestUTF16Len(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "äöü": 3, "😀": 2} {
		if got := utf16Len(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
