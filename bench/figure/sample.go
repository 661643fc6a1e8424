package figure

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Value is one figure that a row measured.
type Value struct {
	// Name says what it is: "rate", "broker CPU", "p99".
	Name string `json:"figure"`
	// Unit says how much of it is better, see HigherIsBetter.
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// Sample is a Value of one round against one peer.
type Sample struct {
	Row   string `json:"row"`
	Peer  string `json:"peer"`
	Round int    `json:"round"`
	Value
}

// Skipped says why a row has no figures for a peer.
type Skipped struct {
	Row    string `json:"row"`
	Peer   string `json:"peer"`
	Reason string `json:"reason"`
}

// Run describes the machine and the circumstances of a run.
type Run struct {
	Date     string   `json:"date"` // of its beginning, UTC
	System   string   `json:"system"`
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	MemoryMB int64    `json:"memory_mb"`
	Go       string   `json:"go"`
	Revision string   `json:"revision"`
	Rounds   int      `json:"rounds"`
	Scale    float64  `json:"scale"`
	Profile  string   `json:"profile"`
	Notes    []string `json:"notes,omitempty"` // what was left out, and why
}

// HigherIsBetter tells whether more of unit is better.
func HigherIsBetter(unit string) bool {
	switch unit {
	case "records/s", "MB/s", "requests/s", "lookups/s":
		return true
	default:
		return false
	}
}

// line is one line of the file: exactly one of its fields is set.
type line struct {
	Run     *Run     `json:"run,omitempty"`
	Sample  *Sample  `json:"sample,omitempty"`
	Skipped *Skipped `json:"skipped,omitempty"`
}

// Writer writes a file of results as they come, so that an interrupted run keeps what it has.
type Writer struct{ e *json.Encoder }

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{json.NewEncoder(w)} }

// Run writes the description of the run.
func (w *Writer) Run(r Run) error { return w.e.Encode(line{Run: &r}) }

// Sample writes a sample.
func (w *Writer) Sample(s Sample) error { return w.e.Encode(line{Sample: &s}) }

// Skipped writes why something has no figures.
func (w *Writer) Skipped(s Skipped) error { return w.e.Encode(line{Skipped: &s}) }

// Read reads a file of results; several runs in one file make one table whose later Run counts.
func Read(r io.Reader) (*Table, error) {
	t := NewTable()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("results, line %d: %w", n, err)
		}
		switch {
		case l.Run != nil:
			t.Run = *l.Run
		case l.Sample != nil:
			t.Add(*l.Sample)
		case l.Skipped != nil:
			t.Skip(*l.Skipped)
		default:
			return nil, fmt.Errorf("results, line %d: neither run nor sample", n)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return t, nil
}
