package main

import (
	"fmt"
	"io"
	"slices"
)

// row names one figure of the table.
type row struct{ name, client, what, unit string }

// results gathers the figures of all rounds by row and broker, in the order of their coming.
type results struct {
	rows   []row
	values map[row]map[string][]float64
}

func newResults() *results { return &results{values: map[row]map[string][]float64{}} }

func (r *results) add(name, client, broker string, p produceResult, c consumeResult) {
	r.value(row{name, client, "produce", "records/s"}, broker, p.perSecond)
	r.value(row{name, client, "produce, 99th percentile", "ms"}, broker, p.p99)
	r.value(row{name, client, "consume", "records/s"}, broker, c.perSecond)
}

func (r *results) value(at row, broker string, v float64) {
	if r.values[at] == nil {
		r.rows = append(r.rows, at)
		r.values[at] = map[string][]float64{}
	}
	r.values[at][broker] = append(r.values[at][broker], v)
}

// print writes the table. The ratio says how much better Samsa is: more records, or fewer milliseconds.
func (r *results) print(w io.Writer) {
	const ours, theirs = "Samsa", "Apache Kafka 4.4.0"
	fmt.Fprintf(w, "| case | measured with | what | %s | %s | Samsa is better by |\n|---|---|---|---|---|---|\n", ours, theirs)
	for _, at := range r.rows {
		a, b := summarise(r.values[at][ours]), summarise(r.values[at][theirs])
		ratio := a.median / b.median
		if at.unit == "ms" {
			ratio = b.median / a.median
		}
		fmt.Fprintf(w, "| %s | %s | %s, %s | %s | %s | %.2f |\n", at.name, at.client, at.what, at.unit, a, b, ratio)
	}
}

// summary is the median of some rounds with their range.
type summary struct{ median, lowest, highest float64 }

func summarise(values []float64) summary {
	if len(values) == 0 {
		return summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return summary{median: (sorted[(n-1)/2] + sorted[n/2]) / 2, lowest: sorted[0], highest: sorted[n-1]}
}

func (s summary) String() string {
	return fmt.Sprintf("%.0f [%.0f–%.0f]", s.median, s.lowest, s.highest)
}
