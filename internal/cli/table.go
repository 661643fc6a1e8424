package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is text in columns. A column whose cells are all numbers is aligned to the right.
type table struct {
	header []string
	rows   [][]string
}

func newTable(header ...string) *table { return &table{header: header} }

// row adds a row; cells are printed as %v prints them, an empty one as "-".
func (t *table) row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = fmt.Sprint(c); row[i] == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.header))
	numeric := make([]bool, len(t.header))
	for i, h := range t.header {
		widths[i] = utf8.RuneCountInString(h)
		numeric[i] = len(t.rows) > 0
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			if _, err := strconv.ParseInt(row[i], 10, 64); err != nil && row[i] != "-" {
				numeric[i] = false
			}
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if numeric[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printJSON writes v as one indented JSON document.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// appendJSONLine appends v as JSON on one line.
func appendJSONLine(dst []byte, v any) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}

// byteSize renders n bytes for people: 1023 B, 1.5 KiB, 12 MiB.
func byteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n)/unit, "KMGTPE"
	for value >= unit && len(suffix) > 1 {
		value /= unit
		suffix = suffix[1:]
	}
	if value < 10 {
		return fmt.Sprintf("%.1f %ciB", value, suffix[0])
	}
	return fmt.Sprintf("%.0f %ciB", value, suffix[0])
}

// joinInts renders a list of ids as Kafka's tools do: 1,2,3.
func joinInts(ids []int32) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(parts, ",")
}

// count renders n with the right form of the noun: "1 record", "2 records".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
