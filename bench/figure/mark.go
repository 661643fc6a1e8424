package figure

import "fmt"

// Mark is what a figure should reach. Exactly one of AtLeast and AtMost is set.
type Mark struct {
	Row, Figure string
	// Peer is whose figure it is.
	Peer string
	// Of makes the mark one on a ratio; the zero value makes it one on the figure itself.
	Of              Of
	AtLeast, AtMost float64
}

// Of is the figure that a ratio is taken of. Row and Figure are those of the mark where they are "".
type Of struct{ Peer, Row, Figure string }

// Verdict is what became of a mark.
type Verdict struct {
	Mark
	// Known is false when a figure is missing.
	Known   bool
	Value   float64
	Reached bool
}

// Judge holds a mark against the figures.
func (t *Table) Judge(m Mark) Verdict {
	v := Verdict{Mark: m}
	if m.Of == (Of{}) {
		s := t.Summary(m.Row, m.Peer, m.Figure)
		v.Known, v.Value = s.N > 0, s.Median
	} else {
		row, figure := m.Of.Row, m.Of.Figure
		if row == "" {
			row = m.Row
		}
		if figure == "" {
			figure = m.Figure
		}
		v.Value, v.Known = t.Ratio(m.Row, m.Peer, m.Figure, row, m.Of.Peer, figure)
	}
	if m.AtLeast != 0 {
		v.Reached = v.Known && v.Value >= m.AtLeast
	} else {
		v.Reached = v.Known && v.Value <= m.AtMost
	}
	return v
}

// Wanted says the mark in words, unit being that of its figure.
func (m Mark) Wanted(unit string) string {
	sign, bound := "≥", m.AtLeast
	if m.AtLeast == 0 {
		sign, bound = "≤", m.AtMost
	}
	if m.Of == (Of{}) {
		return fmt.Sprintf("%s %s %s", sign, Short(bound), unit)
	}
	of := m.Of.Peer
	if m.Of.Row != "" && m.Of.Row != m.Row {
		of += " in " + m.Of.Row
	}
	if m.Of.Figure != "" && m.Of.Figure != m.Figure {
		of += ", " + m.Of.Figure
	}
	return fmt.Sprintf("%s %s × %s", sign, Short(bound), of)
}
