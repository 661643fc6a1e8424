package cli

import (
	"math"
	"strconv"
	"strings"
)

// parseSize reads a number of bytes: 1048576, 500K, 10M, 2G or 1T, with units of 1024; "iB" may follow.
func parseSize(flag, text string) (int64, error) {
	number, unit := text, int64(1)
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		number = text[:i]
		suffix := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text[i:])), "B"), "I")
		power := strings.Index("KMGTP", suffix)
		if suffix != "" && (len(suffix) > 1 || power < 0) {
			return 0, usagef("%s %q: a number of bytes, as 500M or 10G", flag, text)
		}
		if suffix != "" {
			unit = 1 << (10 * (power + 1))
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n*float64(unit) >= math.MaxInt64 {
		return 0, usagef("%s %q: a number of bytes, as 500M or 10G", flag, text)
	}
	return int64(n * float64(unit)), nil
}
