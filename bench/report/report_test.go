package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/samsalog/samsa/bench/figure"
)

func page() Page {
	t := figure.NewTable()
	t.Run = figure.Run{Date: "2026-01-02", Revision: "abc", System: "linux/amd64", CPU: "CPU & more", Cores: 2, MemoryMB: 1024, Go: "go1", Profile: "quick", Rounds: 2, Scale: 0.5, Notes: []string{"one <note>"}}
	for round, v := range []float64{100, 300} {
		t.Add(figure.Sample{Row: "produce/a", Peer: "minimum", Round: round, Value: figure.Value{Name: "rate", Unit: "records/s", Value: 2 * v}})
		t.Add(figure.Sample{Row: "produce/a", Peer: "samsa", Round: round, Value: figure.Value{Name: "rate", Unit: "records/s", Value: v}})
		t.Add(figure.Sample{Row: "produce/a", Peer: "kafka", Round: round, Value: figure.Value{Name: "rate", Unit: "records/s", Value: v * 4}})
		t.Add(figure.Sample{Row: "produce/a", Peer: "samsa", Round: round, Value: figure.Value{Name: "p99", Unit: "ms", Value: 3}})
		t.Add(figure.Sample{Row: "limits", Peer: "machine", Round: round, Value: figure.Value{Name: "copy", Unit: "MB/s", Value: v}})
	}
	t.Skip(figure.Skipped{Row: "produce/a", Peer: "nats", Reason: "first line | bar\nsecond line"})
	return Page{Table: t, Marks: []figure.Mark{
		{Row: "produce/a", Figure: "rate", Peer: "samsa", Of: figure.Of{Peer: "kafka"}, AtLeast: 1.5},
		{Row: "produce/a", Figure: "p99", Peer: "samsa", AtMost: 4}, {Row: "produce/a", Figure: "p50", Peer: "samsa", AtMost: 4},
	}, Notes: map[string]string{"": "All of it.", "produce": "Why it loses."}, Charts: []Chart{{"produce", "rate"}, {"produce", "nothing"}}}
}

// TestPageKeepsLosingRows checks REP-1 on the text of the page.
func TestPageKeepsLosingRows(t *testing.T) {
	var b strings.Builder
	if err := page().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2026-01-02, revision abc, linux/amd64, CPU & more, 2 cores, 1,020 MiB of memory, go1. Profile quick: 2 rounds, scale 0.5.\n\n- one <note>\n\nAll of it.\n",
		"| produce/a | rate | ≥ 1.50 × kafka | 0.25 | **missed** |\n| produce/a | p99 | ≤ 4.00 ms | 3.00 | reached |\n| produce/a | p50 | ≤ 4.00  | – | not measured |\n\n1 of 2 marks",
		"| row | figure | Samsa | Apache Kafka 4.4.0 | minimum broker | ÷ Apache Kafka 4.4.0 | ÷ minimum broker |\n|---|---|---|---|---|---|---|\n" +
			"| produce/a | rate, records/s | 200 [100–300] | 800 [400–1,200] | 400 [200–600] | 0.25 | 0.5 |\n| produce/a | p99, ms | 3.00 | – | – | – | – |\n",
		"![produce: rate](bench/produce-rate.svg)\n\nWhy it loses.\n",
		"| row | figure | machine |\n|---|---|---|\n| limits | copy, MB/s | 200 [100–300] |\n",
		"| produce/a | NATS JetStream | first line \\| bar |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("missing:\n%s\nin\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "nothing.svg") {
		t.Error("a plot of nothing")
	}
}

func TestChartIsXML(t *testing.T) {
	var b strings.Builder
	p := page()
	if err := p.WriteChart(&b, p.Charts[0]); err != nil {
		t.Fatal(err)
	}
	bars := 0
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.StartElement); ok && s.Name.Local == "line" {
			bars++
		}
	}
	if bars != 3 || !strings.Contains(b.String(), "more is better") {
		t.Errorf("%d bars in\n%s", bars, b.String())
	}
}

func TestParseNotes(t *testing.T) {
	got := ParseNotes("# Notes\n\nAbout all.\n\n## produce\n\nIt loses.\n### deeper\n\n## consume\nx\n")
	if strings.TrimSpace(got[""]) != "About all." || strings.TrimSpace(got["produce"]) != "It loses.\n### deeper" || got["consume"] != "x\n" || len(got) != 3 {
		t.Errorf("%q", got)
	}
}
