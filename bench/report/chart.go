package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/samsalog/samsa/bench/figure"
)

// Chart is a plot of one figure over the rows of a group.
type Chart struct{ Group, Figure string }

// File is its name.
func (c Chart) File() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, c.Group+" "+c.Figure) + ".svg"
}

// sizes of a plot in pixels.
const (
	labelWidth = 300
	barWidth   = 460
	barHeight  = 13
	rowGap     = 10
	topMargin  = 46
)

// colour returns that of a peer: Samsa and Apache Kafka stand out, limits are grey.
func colour(peer string) string {
	switch peer {
	case "samsa":
		return "#1b7f5c"
	case "kafka":
		return "#c2571a"
	case "samsa before":
		return "#7dbfa8"
	case "minimum":
		return "#707070"
	case "nats":
		return "#3468b0"
	case "kfake":
		return "#8a63b8"
	default:
		return "#b8b8b8"
	}
}

// chartRows returns the rows of a group that have the figure.
func (p Page) chartRows(c Chart) []string {
	var rows []string
	for _, r := range p.Table.Rows() {
		if group(r) == c.Group && slices.ContainsFunc(p.Table.Names(r), func(v figure.Value) bool { return v.Name == c.Figure }) {
			rows = append(rows, r)
		}
	}
	return rows
}

// Has tells whether there is anything to plot.
func (p Page) Has(c Chart) bool { return len(p.chartRows(c)) > 0 }

// WriteChart writes a plot: a bar for each peer with a line over the range of the rounds.
func (p Page) WriteChart(w io.Writer, c Chart) error {
	rows := p.chartRows(c)
	most, unit, bars := 0.0, "", 0
	for _, r := range rows {
		unit = p.unit(r, c.Figure)
		for _, n := range p.Table.Peers(r) {
			if s := p.Table.Summary(r, n, c.Figure); s.N > 0 {
				most = max(most, s.Highest)
				bars++
			}
		}
	}
	better := "less is better"
	if figure.HigherIsBetter(unit) {
		better = "more is better"
	}
	height := topMargin + bars*barHeight + len(rows)*rowGap + 10
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", labelWidth+barWidth+130, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	fmt.Fprintf(&b, `<text x="8" y="18" font-size="14">%s: %s, %s (%s)</text>`+"\n", html.EscapeString(c.Group), html.EscapeString(c.Figure), html.EscapeString(unit), better)
	y := topMargin
	for _, r := range rows {
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text>`+"\n", y+barHeight-3, html.EscapeString(strings.TrimPrefix(r, c.Group+"/")))
		for _, n := range order(p.Table.Peers(r)) {
			if s := p.Table.Summary(r, n, c.Figure); s.N > 0 {
				bar(&b, y, n, s, most)
				y += barHeight
			}
		}
		y += rowGap
	}
	b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

func bar(b *strings.Builder, y int, peer string, s figure.Summary, most float64) {
	x := func(v float64) float64 {
		if most <= 0 {
			return labelWidth
		}
		return labelWidth + math.Max(v, 0)/most*barWidth
	}
	middle := float64(y) + (barHeight-2)/2.0
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, y, x(s.Median)-labelWidth, barHeight-2, colour(peer))
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="black"/>`+"\n", x(s.Lowest), middle, x(s.Highest), middle)
	fmt.Fprintf(b, `<text x="%.1f" y="%d">%s %s</text>`+"\n", x(s.Highest)+4, y+barHeight-3, figure.Short(s.Median), html.EscapeString(title(peer)))
}
