package figure

import (
	"fmt"
	"io"
	"strings"
)

// WriteGoBenchmarks writes the figures of one peer as lines of go test -bench, which benchstat reads: a line per row
// and round, its figures as metrics. Names that both revisions of a comparison share make them comparable.
func (t *Table) WriteGoBenchmarks(w io.Writer, peer string) error {
	if _, err := fmt.Fprintf(w, "goos: %s\npkg: samsa/bench\ncpu: %s\n", strings.Split(t.Run.System, "/")[0], t.Run.CPU); err != nil {
		return err
	}
	for _, row := range t.rows {
		most := 0
		columns := make([][]float64, len(t.names[row]))
		for i, name := range t.names[row] {
			columns[i] = t.values(row, peer, name.Name)
			most = max(most, len(columns[i]))
		}
		for round := range most {
			var b strings.Builder
			fmt.Fprintf(&b, "Benchmark%s 1", goName(row))
			for i, name := range t.names[row] {
				if round < len(columns[i]) {
					fmt.Fprintf(&b, " %g %s", columns[i][round], goUnit(name))
				}
			}
			if _, err := fmt.Fprintln(w, b.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// goName makes a row's name one of a benchmark: an upper case letter first, no space.
func goName(row string) string {
	row = strings.Join(strings.Fields(row), "-")
	return strings.ToUpper(row[:1]) + row[1:]
}

// goUnit joins a figure's name and unit, so that two figures of one unit are apart; benchstat takes "/s" for better
// when higher, as it should.
func goUnit(v Value) string {
	return strings.Join(strings.Fields(v.Name), "-") + "-" + strings.Join(strings.Fields(v.Unit), "-")
}
