package cli

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1048576": 1 << 20, "500K": 500 << 10, "1.5M": 3 << 19, "10g": 10 << 30, "2 GiB": 2 << 30, "3TB": 3 << 40, "7B": 7} {
		if got, err := parseSize("--free", text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1", "10X", "1e3", "9999999999G", "1.2.3", "5KK"} {
		if got, err := parseSize("--free", text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}
