package figure

import (
	"fmt"
	"math"
	"slices"
)

// Summary is the median of some rounds with their range. A Summary of nothing has N 0.
type Summary struct {
	Median, Lowest, Highest float64
	N                       int
}

// Summarise sums up values in any order.
func Summarise(values []float64) Summary {
	n := len(values)
	if n == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Summary{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Lowest: sorted[0], Highest: sorted[n-1], N: n}
}

// String writes three digits that count, and the range where there is one.
func (s Summary) String() string {
	switch {
	case s.N == 0:
		return "–"
	case s.N == 1 || s.Lowest == s.Highest:
		return Short(s.Median)
	default:
		return fmt.Sprintf("%s [%s–%s]", Short(s.Median), Short(s.Lowest), Short(s.Highest))
	}
}

// Short writes a number with three digits that count, and thousands apart.
func Short(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case a >= 1e15 || math.IsNaN(v):
		return fmt.Sprint(v)
	case a >= 1000:
		scale := math.Pow(10, math.Floor(math.Log10(a))-2)
		return thousands(int64(math.Round(v/scale) * scale))
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

func thousands(n int64) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprint(n % 1000)
	for n /= 1000; n > 0; n /= 1000 {
		for len(s)%4 != 3 {
			s = "0" + s
		}
		s = fmt.Sprintf("%d,%s", n%1000, s)
	}
	return sign + s
}

// Percentile returns the value at share p (0 to 1) of sorted values, 0 when there are none.
func Percentile[T int64 | float64](sorted []T, p float64) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(max(int(math.Ceil(p*float64(len(sorted))))-1, 0), len(sorted)-1)]
}
